"""pagec compiles a YAML page spec into one finished, valid HTML page with a local language model."""
