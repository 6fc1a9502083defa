"""What people and scripts see: views of results, plain and JSON output, cleaning of untrusted text."""
