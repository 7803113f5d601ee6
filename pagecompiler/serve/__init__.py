"""`pagec watch --serve`: the build and the page in a browser on this machine."""
