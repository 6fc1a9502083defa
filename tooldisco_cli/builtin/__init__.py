"""The Python functions behind shipped tools, reached only by name through the python executor.

Nothing here imports the rest of tooldisco. A function takes the tool's arguments as keywords, and ``context`` when it
needs folders, variables or the network (:class:`~tooldisco_cli.builtin.context.Context`); it returns plain JSON data
and raises plain exceptions whose message a person or model can act on.
"""
