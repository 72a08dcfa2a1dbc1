"""Headers of compilers and systems: in angle brackets they are not the tree's, even if it has one of that name."""

from __future__ import annotations

_C = (
    "assert complex ctype errno fenv float inttypes iso646 limits locale math setjmp signal stdalign stdarg stdatomic "
    "stdbit stdbool stdckdint stddef stdint stdio stdlib stdnoreturn string tgmath threads time uchar wchar wctype"
)
_POSIX = (
    "aio alloca byteswap cpio dirent dlfcn endian err execinfo fcntl fmtmsg fnmatch ftw getopt glob grp iconv ifaddrs io "
    "langinfo libgen libintl malloc memory monetary mqueue ndbm netdb nl_types paths poll process pthread pty pwd regex "
    "sched search semaphore spawn strings stropts sysexits syslog tar termio termios ulimit unistd utime utmp utmpx values "
    "windows winsock winsock2 ws2tcpip wordexp direct share conio crtdbg intrin tchar shlobj shlwapi"
)
_SYSTEM = (
    "epoll event eventfd file filio inotify ioctl ipc mman mount msg param poll prctl ptrace random resource select sem "
    "sendfile shm socket sockio stat statfs statvfs syscall sysctl sysinfo sysmacros time times timeb types ucred uio un utime "
    "utsname wait xattr"
)
_NET = "arpa/inet net/if net/if_arp net/if_dl net/route netinet/in netinet/ip netinet/tcp netinet/udp netinet6/in6_var"
_CPP = (
    "algorithm any array atomic barrier bit bitset cassert cctype cerrno cfenv cfloat charconv chrono cinttypes climits "
    "clocale cmath codecvt compare complex concepts condition_variable coroutine csetjmp csignal cstdarg cstddef cstdint "
    "cstdio cstdlib cstring ctime cuchar cwchar cwctype deque exception execution expected filesystem format forward_list "
    "fstream functional future generator initializer_list iomanip ios iosfwd iostream istream iterator latch limits list "
    "locale map mdspan memory memory_resource mutex new numbers numeric optional ostream print queue random ranges ratio regex "
    "scoped_allocator semaphore set shared_mutex source_location span spanstream sstream stack stacktrace stdexcept "
    "stdfloat stop_token streambuf string string_view strstream syncstream system_error thread tuple type_traits typeindex "
    "typeinfo unordered_map unordered_set utility valarray variant vector version"
)

STANDARD = frozenset(
    [f"{name}.h" for name in f"{_C} {_POSIX} {_NET}".split()] + [f"sys/{name}.h" for name in _SYSTEM.split()] + _CPP.split()
)
