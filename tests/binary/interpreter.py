"""Compile the interpreter of the one file and its libraries, for glibc 2.17, with `zig cc`.

Everything is static in it except glibc, and it needs no symbol of glibc that is newer than 2.17.
Nothing that is compiled names the folder of the build: compilers are found by PATH.
"""

import os
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from locked import Input, Lock, wheel

EPOCH: Final = "1700000000"  # seconds since 1970: the date in what is compiled
FLAGS: Final = "-O3 -g0 -fPIC"
# modules of CPython that nettop never uses
ABSENT: Final = (
    "_bz2 _lzma _sqlite3 _tkinter _dbm _gdbm readline _curses _curses_panel _uuid nis xxlimited "
    "xxlimited_35 _crypt"
).split()
# what configure would try on this host: the answer must not be that of its load, or of its devices
ANSWERS: Final = {
    "broken_nice": "no", "buggy_getaddrinfo": "no", "file__dev_ptmx": "yes", "file__dev_ptc": "no",
}  # fmt: skip
# algorithms and protocols of OpenSSL that a server of metrics over TLS 1.2 and 1.3 does not need
WITHOUT: Final = (
    "shared module tests apps docs engine legacy autoload-config dso comp ui-console cms cmp ct "
    "ocsp srp psk gost idea seed camellia aria sm2 sm3 sm4 bf cast des dsa rc2 rc4 md4 mdc2 rmd160 "
    "whirlpool siphash ml-dsa slh-dsa quic dtls ssl3 tls1 tls1_1 ts rfc3779 http"
).split()
FFI: Final = {  # machine → its name in libffi, folder, sources
    "x86_64": ("X86_64", "x86", ("ffi64.c", "unix64.S", "ffiw64.c", "win64.S")),
    "aarch64": ("AARCH64", "aarch64", ("ffi.c", "sysv.S")),
}
FFI_CONFIG: Final = """\
#define EH_FRAME_FLAGS "a"
#define FFI_EXEC_STATIC_TRAMP 1
#define HAVE_ALLOCA_H 1
#define HAVE_AS_CFI_PSEUDO_OP 1
#define HAVE_HIDDEN_VISIBILITY_ATTRIBUTE 1
#define HAVE_LONG_DOUBLE 1
#define HAVE_MEMCPY 1
#define HAVE_RO_EH_FRAME 1
#define SIZEOF_DOUBLE 8
#define SIZEOF_LONG_DOUBLE 16
#define SIZEOF_SIZE_T 8
#define STDC_HEADERS 1
#if defined(__x86_64__)
#define HAVE_AS_X86_64_UNWIND_SECTION_TYPE 1
#define HAVE_AS_X86_PCREL 1
#endif
#ifdef LIBFFI_ASM
#define FFI_HIDDEN(name) .hidden name
#else
#define FFI_HIDDEN __attribute__ ((visibility ("hidden")))
#endif
"""


@dataclass(frozen=True, slots=True)
class Workshop:
    """Where things are built for one machine."""

    lock: Lock
    inputs: Path
    folder: Path
    machine: str

    @property
    def zig(self) -> Path:
        """The compiler, unpacked from its wheel."""
        return self.folder.parent / "zig/ziglang/zig"

    @property
    def prefix(self) -> Path:
        """Headers and libraries."""
        return self.folder / "prefix"

    def environment(self) -> Mapping[str, str]:
        """PATH begins with the compiler for this machine; nothing of the user's is kept."""
        cache = str(self.folder.parent / "zig-cache")
        return {
            "PATH": f"{self.folder / 'tools'}:/usr/bin:/bin", "LC_ALL": "C", "TZ": "UTC",
            "HOME": str(self.folder), "SOURCE_DATE_EPOCH": EPOCH, "PYTHONHASHSEED": "0",
            "ZIG_GLOBAL_CACHE_DIR": cache, "ZIG_LOCAL_CACHE_DIR": cache,
            "CC": "cc", "AR": "ar", "RANLIB": "ranlib",
        }  # fmt: skip

    def run(self, words: Sequence[str | Path], where: Path, **more: str) -> None:
        """Run a program quietly; if it fails, print the end of its words."""
        log = self.folder / "log"
        with log.open("wb") as file:
            done = subprocess.run(
                ["nice", *map(str, words)], cwd=where, env={**self.environment(), **more},
                stdin=subprocess.DEVNULL, stdout=file, stderr=subprocess.STDOUT, check=False,
            )  # fmt: skip
        if done.returncode:
            print(*log.read_text(errors="replace").splitlines()[-30:], sep="\n", file=sys.stderr)
            sys.exit(f"{words[0]} ended with {done.returncode} in {where}: see {log}")

    def source(self, name: str) -> Path:
        """The unpacked source of a package, with its patches."""
        one = self.lock.one(name)
        where = self.folder / name
        if where.is_dir():
            shutil.rmtree(where)
        where.mkdir()
        for file in one.hashes:
            self.run(["tar", "-xf", self.inputs / file], where)
        top = self.top(name)
        for patch in patches(one, where / "debian/patches"):
            self.run(["patch", "-p1", "--no-backup-if-mismatch", "-i", patch], top)
        return top

    def top(self, name: str) -> Path:
        """The folder of an unpacked source."""
        (found,) = (one for one in (self.folder / name).iterdir() if one.name != "debian")
        return found


def patches(one: Input, folder: Path) -> list[Path]:
    """The chosen patches, in the order of Debian."""
    if not one.patches:
        return []
    rows = (folder / "series").read_text().splitlines()
    return [folder / row.strip() for row in rows if row.startswith(one.patches)]


def tools(shop: Workshop) -> None:
    """`cc`, `ar` and `ranlib` for the machine."""
    if not shop.zig.exists():
        found = wheel(shop.inputs, shop.lock.one("ziglang"), "x86_64")
        assert found
        with zipfile.ZipFile(found) as packed:
            packed.extractall(shop.folder.parent / "zig")
        shop.zig.chmod(0o755)
    target = f"cc -target {shop.machine}-linux-gnu.2.17 -fno-sanitize=all"
    (shop.folder / "tools").mkdir(exist_ok=True)
    for name, words in (("cc", target), ("ar", "ar"), ("ranlib", "ranlib")):
        path = shop.folder / "tools" / name
        path.write_text(f'#!/bin/sh\nexec {shop.zig} {words} "$@"\n')
        path.chmod(0o755)


def jobs() -> str:
    """The option of make."""
    return f"-j{len(os.sched_getaffinity(0))}"


def zlib(shop: Workshop) -> None:
    """libz.a."""
    top = shop.source("zlib")
    shop.run(["./configure", "--static", f"--prefix={shop.prefix}"], top, CFLAGS=FLAGS)
    shop.run(["make", jobs(), "libz.a"], top)
    shop.run(["make", "install"], top)


def libffi(shop: Workshop) -> None:
    """libffi.a. Its source has no configure script; its few files are compiled as they are."""
    top = shop.source("libffi")
    name, folder, own = FFI[shop.machine]
    include = shop.prefix / "include"
    header = (top / "include/ffi.h.in").read_text()
    for key, value in (
        ("VERSION", shop.lock.one("libffi").upstream), ("TARGET", name),
        ("HAVE_LONG_DOUBLE", "1"), ("FFI_EXEC_TRAMPOLINE_TABLE", "0"),
    ):  # fmt: skip
        header = header.replace(f"@{key}@", value)
    (include / "ffi.h").write_text(header)
    shutil.copy(top / f"src/{folder}/ffitarget.h", include)
    (top / "include/fficonfig.h").write_text(FFI_CONFIG)
    common = [
        f"src/{one}.c" for one in "prep_cif types raw_api java_raw_api closures tramp".split()
    ]
    objects = []
    for source in (*common, *(f"src/{folder}/{one}" for one in own)):
        objects.append(source.replace("/", "-") + ".o")
        options = [*FLAGS.split(), "-fexceptions", "-D_GNU_SOURCE", "-DHAVE_CONFIG_H"]
        headers = ["-Iinclude", "-Isrc", f"-I{include}"]
        shop.run(["cc", *options, *headers, "-c", source, "-o", objects[-1]], top)
    shop.run(["ar", "rcs", shop.prefix / "lib/libffi.a", *objects], top)


def openssl(shop: Workshop) -> None:
    """libssl.a and libcrypto.a, which read no configuration of the host."""
    top = shop.source("openssl")
    shop.run(
        ["perl", "Configure", f"linux-{shop.machine}", "--prefix=/nonexistent", "--libdir=lib",
         "--openssldir=/etc/ssl", "-O2", "-g0", "-fPIC", *(f"no-{one}" for one in WITHOUT)],
        top,
    )  # fmt: skip
    shop.run(["make", jobs(), "build_libs"], top)
    shop.run(["make", "install_dev", f"DESTDIR={shop.folder}/openssl-made"], top)
    shutil.copytree(shop.folder / "openssl-made/nonexistent", shop.prefix, dirs_exist_ok=True)


def python(shop: Workshop, native: Path | None) -> None:
    """The interpreter; `native` is one of the same version that runs here, for another machine."""
    top = shop.source("python3.13")
    lib, include = shop.prefix / "lib", f"-I{shop.prefix / 'include'}"
    settings = {
        "MODULE_BUILDTYPE": "static", "CFLAGS": FLAGS, "LDFLAGS": "-s",
        "ZLIB_CFLAGS": include, "ZLIB_LIBS": f"{lib}/libz.a",
        "LIBFFI_CFLAGS": include, "LIBFFI_LIBS": f"{lib}/libffi.a",
        **{f"py_cv_module_{name}": "n/a" for name in ABSENT},
        **{f"ac_cv_{name}": value for name, value in ANSWERS.items()},
    }  # fmt: skip
    words = (
        "./configure --prefix=/nonexistent --without-ensurepip --disable-test-modules "
        f"--with-pkg-config=no --with-openssl={shop.prefix}"
    ).split()
    if native:
        words += [f"--host={shop.machine}-linux-gnu", "--build=x86_64-linux-gnu",
                  f"--with-build-python={native}"]  # fmt: skip
    shop.run(words, top, **settings)
    shop.run(["make", jobs(), "CFLAGS_NODIST=-Wno-date-time -std=c11"], top)


def compiled(shop: Workshop, native: Path | None = None) -> Path:
    """The folder of CPython's source with the interpreter in it; each part is compiled once."""
    (shop.prefix / "lib").mkdir(parents=True, exist_ok=True)
    (shop.prefix / "include").mkdir(exist_ok=True)
    tools(shop)
    parts = (("zlib", zlib), ("libffi", libffi), ("openssl", openssl))
    for name, build in (*parts, ("python3.13", lambda shop: python(shop, native))):
        ready = shop.folder / f"{name}.ready"
        if not ready.exists():
            print(f"{shop.machine}: compiling {name}", flush=True)
            build(shop)
            ready.touch()
    return shop.top("python3.13")
