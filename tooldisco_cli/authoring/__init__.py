"""Making and keeping manifests: import, export, lint, new."""
