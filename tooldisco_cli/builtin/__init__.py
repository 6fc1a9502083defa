"""The Python functions behind shipped tools, reached only by name through the python executor."""
