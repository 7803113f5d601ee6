"""`pagec bench`: every decode method measured on one spec, on this machine."""
