"""How often each tool was run, when last, and how it went."""
