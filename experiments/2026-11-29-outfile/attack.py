# As user 65534, exchanges a file of its own in DIR, which must be sticky, with a link to ../private/secret,
# until it is killed: by renameat2(2) with RENAME_EXCHANGE, so that DIR/file is always one of the two.
import ctypes, os, sys
os.setgroups([]); os.setgid(65534); os.setuid(65534); os.umask(0); os.chdir(sys.argv[1])
libc = ctypes.CDLL(None)
def exchange(): libc.renameat2(-100, b"file", -100, b"other", 2)
def fresh(name, link):
    if link: os.symlink("../private/secret", "new")
    else: os.close(os.open("new", os.O_WRONLY | os.O_CREAT, 0o666))
    os.rename("new", name)
fresh("file", False); fresh("other", True)
while True:
    for i in range(20): exchange()
    if os.path.islink("file") == os.path.islink("other"): # snug has replaced one of them
        fresh("other", not os.path.islink("file"))
