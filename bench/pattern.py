"""The one question that every peer is asked: where is this attribute read?"""

ATTRIBUTE = "routed_scaling_factor"
