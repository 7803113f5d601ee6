"""Reports as self-contained HTML files: of a build, and of a bench."""
