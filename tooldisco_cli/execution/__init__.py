"""Running a tool: check arguments, ask for approval, run through an executor, shape the result."""
