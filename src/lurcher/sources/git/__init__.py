"""Git: runs the binary safely, lists work trees, and reads refs, commits and blame."""
