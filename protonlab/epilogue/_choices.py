"""What is measured unless somebody says otherwise."""

TOKENS = (1, 2, 4, 8, 16, 32, 64, 128, 256, 512)
KS = (5760, 256)  # a long one and a short one: overlap pays for short ones
UPSTREAM_UP_TO = 64  # tokens an expert
METRIC = "gbyte/s"
