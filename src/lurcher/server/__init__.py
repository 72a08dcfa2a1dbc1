"""A long-lived engine for servers: answers many queries while the index changes, and before there is one."""
