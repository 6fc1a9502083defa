"""The session: a loop of model turns and tool calls, its backends, and its record."""
