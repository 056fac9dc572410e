"""narrow.py COLUMNS COMMAND..: runs a command in a terminal of so many columns, and says how wide the lines are that come and go there."""
import fcntl
import os
import pty
import re
import struct
import sys
import termios

columns, command = int(sys.argv[1]), sys.argv[2:]
child, terminal = pty.fork()
if not child:
    fcntl.ioctl(2, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
    os.execvp(command[0], command)
seen = b""
while True:
    try:
        seen += os.read(terminal, 4096)
    except OSError:  # the terminal's other end is closed
        break
_, status = os.waitpid(child, 0)
lines = re.findall(r"\r\x1b\[K([^\r\n]+)(?=\r\x1b)", seen.decode())
print(f"status {os.waitstatus_to_exitcode(status)}, widest {max(map(len, lines), default=0)} of {columns}")
