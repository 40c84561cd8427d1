"""The definition of every decision as a program: integers only, and no more than Python and the time zones' rules."""
