"""Workers that other Workers load at run time, from code that they hold.

They run in this process like the others: with modules, an environment and a way to the network of their own. That keeps
them apart, but it does not lock them in: the code can do what this Python process can do.

Source: https://developers.cloudflare.com/dynamic-workers/
"""
