"""One owner process per state directory, and how other processes reach it.

The process that holds the lease of a state directory opens its files and listens on a private socket. Whoever else
wants something of that state asks it: a command such as ``pyflare d1 execute`` sends operations, another ``pyflare
dev`` hands over its sockets and its configuration. When the owner ends, the lease frees itself and the next process
takes it.
"""
