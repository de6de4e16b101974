"""Route analysis: who applies the factor, and how often, on each route and in each configuration.

`project` loads modules, `blocks` finds the classes and their routes, `evaluate`, `execute` and `call` interpret them
once with every value guarded by a condition, `tensors` knows what operations do to parts, `contracts` what the profile
says of leaves, `judge` compares the result with the policy and `cells` puts it into a few readable conditions.
"""
