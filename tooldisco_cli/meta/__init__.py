"""The tools that a model itself sees, and what answers them; shared by the session and the server."""
