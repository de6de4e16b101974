"""From source to facts: parsed modules, factor flow, guards as boolean functions."""
