"""What the process runs on: the kernel, arrays, child processes, time, the terminal."""
