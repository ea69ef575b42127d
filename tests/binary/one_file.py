"""`make binary`: nettop with its own Python as one executable file, dist/nettop-MACHINE.

The file is a launcher (launch.c) with a packed folder in it: interpreter, library, packages, manual
page and licences. It runs on each Linux with glibc 2.17 or newer. It is the same, byte for byte,
from the same tree and the same inputs.toml. Building needs Linux on x86_64, make, perl, patch, and
the inputs, from apt-get and pip or put into build/binary/inputs.
"""

import argparse
import ctypes
import hashlib
import json
import os
import re
import shutil
import stat
import struct
import sys
import tomllib
import zipfile
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final

import locked
from interpreter import Workshop, compiled

REPO: Final = Path(__file__).parents[2]
HERE: Final = Path(__file__).parent
BUILD: Final = REPO / "build/binary"
LIBRARY: Final = "lib/python3.13"
PACKAGES: Final = f"{LIBRARY}/site-packages"
COMPILE: Final = """if True:
    import os, py_compile, sys
    for line in sys.stdin.read().splitlines():
        path, made, name = line.split(chr(9))
        os.makedirs(os.path.dirname(made), exist_ok=True)
        py_compile.compile(path, made, name, doraise=True, quiet=0,
                           invalidation_mode=py_compile.PycInvalidationMode.UNCHECKED_HASH)
"""
LAST: Final = 22  # compression level of zstd
GLIBC: Final = (2, 17)  # RHEL 7
CHECKSUM, LEVEL = 201, 100  # ZSTD_c_checksumFlag, ZSTD_c_compressionLevel


def unneeded() -> dict[str, tuple[str, ...]]:
    """Patterns of files that nettop never uses: of the library and of packages."""
    found = tomllib.loads((HERE / "inputs.toml").read_text())["without"]
    return {name: tuple(patterns) for name, patterns in found.items()}


def kept(names: Iterable[Path], patterns: tuple[str, ...]) -> Iterator[Path]:
    """The files that match no pattern."""
    for path in names:
        ways = (path, *path.parents)
        if not any(way.match(pattern) for way in ways for pattern in patterns):
            yield path


def put(source: Path, target: Path) -> None:
    """Copy a file."""
    target.parent.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(source, target)


def own_wheel(shop: Workshop, native: Path) -> Path:
    """The wheel of this tree, built by the interpreter of the file and the locked hatchling."""
    where = shop.folder / "wheel"
    shutil.rmtree(where, ignore_errors=True)
    lent = where / "lent"
    for one in (*shop.lock.of("tool"), *shop.lock.of("wheel")):
        path = locked.wheel(shop.inputs, one, "x86_64")
        if path and one.name != "ziglang":
            with zipfile.ZipFile(path) as packed:
                packed.extractall(lent)
    code = "import sys; sys.path.insert(0, sys.argv.pop(1)); from hatchling.cli import hatchling"
    words = [
        "-c",
        f"{code}; sys.exit(hatchling())",
        str(lent),
        "build",
        "-t",
        "wheel",
        "-d",
        str(where),
    ]
    shop.run([native, *words], REPO)
    return next(where.glob("*.whl"))


def unpacked(tree: Path, path: Path, patterns: tuple[str, ...]) -> None:
    """A wheel in the tree, with its metadata but without what only pip uses."""
    with zipfile.ZipFile(path) as packed:
        files = {Path(one) for one in packed.namelist() if not one.endswith("/")}
        for one in kept(sorted(files), patterns):
            parts = one.parts
            if parts[0].endswith(".data"):  # NAME.data/data/share/…
                target = tree.joinpath(*parts[2:])
            elif parts[0].endswith(".dist-info") and parts[1:] != ("METADATA",):
                continue
            else:
                target = tree / PACKAGES / one
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(packed.read(str(one)))


def compile_all(shop: Workshop, native: Path, tree: Path) -> None:
    """Compile each module; only nettop keeps its sources, which it also sends to other hosts."""
    rows, sources = [], []
    for path in sorted((tree / LIBRARY).rglob("*.py")):
        name = path.relative_to(tree / LIBRARY)
        if name.parts[:2] == ("site-packages", "nettop"):
            made = path.parent / "__pycache__" / f"{path.stem}.cpython-313.pyc"
        else:
            made = path.with_suffix(".pyc")
            sources.append(path)
        rows.append(f"{path}\t{made}\t{name}")
    listed = shop.folder / "modules"
    listed.write_text("\n".join(rows))
    shop.run(["sh", "-c", f"exec '{native}' -I -c '{COMPILE}' < '{listed}'"], REPO)
    for path in sources:
        path.unlink()


def gather(shop: Workshop, top: Path, native: Path) -> Path:
    """The folder that the file unpacks."""
    tree = shop.folder / "tree"
    shutil.rmtree(tree, ignore_errors=True)
    without = unneeded()
    names = (path.relative_to(top / "Lib") for path in (top / "Lib").rglob("*.py"))
    for name in kept(names, without["library"]):
        put(top / "Lib" / name, tree / LIBRARY / name)
    (tree / LIBRARY / "lib-dynload").mkdir()  # Python looks for it
    for one in shop.lock.of("wheel"):
        path = locked.wheel(shop.inputs, one, shop.machine if "" not in one.hashes else "x86_64")
        assert path
        accelerators = () if shop.machine in one.hashes else ("*.so",)
        unpacked(tree, path, (*without["packages"], *accelerators))
    unpacked(tree, own_wheel(shop, native), ())
    compile_all(shop, native, tree)
    put(HERE / "start.py", tree / "bin/nettop")
    put(top / "python", tree / "bin/python")
    (tree / "LICENSES").write_text(licences(shop))
    for path in tree.rglob("*"):
        if path.is_file() and (newest := newest_symbol(path.read_bytes())) > GLIBC:
            sys.exit(f"{path} needs GLIBC_{newest[0]}.{newest[1]}")
    return tree


def newest_symbol(data: bytes) -> tuple[int, ...]:
    """The newest version of glibc whose symbols an ELF file needs; () for another file."""
    if data[:4] != b"\x7fELF":
        return ()
    found = re.findall(rb"\0GLIBC_([0-9.]+)(?=\0)", data)
    return max(tuple(map(int, version.split(b"."))) for version in found)


def terms(shop: Workshop, one: locked.Input) -> Iterator[str]:
    """The licence texts of an input."""
    if one.kind == "source":
        yield from ((shop.top(one.name) / name).read_text() for name in one.licences)
        return
    path = locked.wheel(shop.inputs, one, shop.machine if "" not in one.hashes else "x86_64")
    assert path
    with zipfile.ZipFile(path) as packed:
        for name in sorted(packed.namelist()):
            last = Path(name).name.upper()
            wanted = last.startswith(("LICEN", "COPYING", "NOTICE")) and ".dist-info/" in name
            if f"/{name}".endswith(tuple(f"/ziglang/{a}" for a in one.licences)) or (
                wanted and not name.endswith("/")
            ):
                yield packed.read(name).decode(errors="replace")


def inside(lock: locked.Lock) -> list[locked.Input]:
    """The inputs that are in the file, all or in part."""
    return [one for one in lock.inputs if one.kind != "tool" or one.licences]


def version() -> str:
    """The version of nettop."""
    return str(tomllib.loads((REPO / "pyproject.toml").read_text())["project"]["version"])


def licences(shop: Workshop) -> str:
    """What is inside, and on which terms."""
    rows = [f"{'nettop':<20} {version():<10} MIT"]
    rows += [f"{one.name:<20} {one.upstream:<10} {one.licence}" for one in inside(shop.lock)]
    texts = [f"nettop\n\n{(REPO / 'LICENSE').read_text()}"]
    for one in inside(shop.lock):
        found = list(terms(shop, one))
        texts.append("\n\n".join([f"{one.name} {one.upstream} ({one.licence})", *found]))
    rule = "\n" + "=" * 80 + "\n"
    return "\n".join(rows) + "\n" + rule + rule.join(texts)


def bill(lock: locked.Lock, machine: str, made: Path) -> str:
    """The bill of materials, CycloneDX 1.5."""
    components = []
    for one in inside(lock):
        kind = "deb/debian" if one.kind == "source" else "pypi"
        hashes = one.hashes if one.kind == "source" else {"": one.hashes.get("") or
                                                          one.hashes.get(machine, "")}  # fmt: skip
        components.append({
            "type": "library", "name": one.name, "version": one.upstream,
            "purl": f"pkg:{kind}/{one.name}@{one.version}",
            "licenses": [{"expression": one.licence}],
            "hashes": [{"alg": "SHA-256", "content": value} for value in hashes.values()],
        })  # fmt: skip
    digest = {"alg": "SHA-256", "content": locked.sha256(made)}
    whole = {"type": "application", "name": "nettop", "version": version(), "hashes": [digest]}
    document = {
        "bomFormat": "CycloneDX", "specVersion": "1.5", "version": 1,
        "metadata": {"component": whole}, "components": components,
    }  # fmt: skip
    return json.dumps(document, indent=1) + "\n"


def packed(tree: Path) -> bytes:
    """The entries of launch.c."""
    parts = []
    for path in sorted(tree.rglob("*")):
        name = os.fsencode(path.relative_to(tree)) + b"\0"
        if path.is_dir():
            mode, data = stat.S_IFDIR | 0o700, b""
        else:
            runs = path.parent.name == "bin" or path.suffix == ".so"
            mode, data = stat.S_IFREG | (0o700 if runs else 0o600), path.read_bytes()
        parts.append(struct.pack("=IIQ", mode, len(name), len(data)) + name + data)
    return b"".join(parts)


def zstd(shop: Workshop) -> Path:
    """The library of zstd for this machine, beside its source."""
    made = shop.folder / "zstd.so"
    if not made.exists():
        lib = shop.source("libzstd") / "lib"
        sources = [p.relative_to(lib) for d in ("common", "compress", "decompress")
                   for p in sorted((lib / d).glob("*.c"))]  # fmt: skip
        shop.run([shop.zig, "cc", "-O3", "-fPIC", "-shared", "-fno-sanitize=all",
                  "-DZSTD_DISABLE_ASM", *sources, "-o", made], lib)  # fmt: skip
    return made


def squeezed(library: Path, data: bytes) -> bytes:
    """One zstd frame with its size and checksum."""
    code = ctypes.CDLL(str(library))
    for name in ("ZSTD_compressBound", "ZSTD_compress2", "ZSTD_CCtx_setParameter"):
        getattr(code, name).restype = ctypes.c_size_t
    code.ZSTD_createCCtx.restype = ctypes.c_void_p
    context = ctypes.c_void_p(code.ZSTD_createCCtx())
    for key, value in ((LEVEL, LAST), (CHECKSUM, 1)):
        code.ZSTD_CCtx_setParameter(context, key, value)
    room = ctypes.create_string_buffer(code.ZSTD_compressBound(ctypes.c_size_t(len(data))))
    sizes = ctypes.c_size_t(len(room)), ctypes.c_size_t(len(data))
    done = code.ZSTD_compress2(context, room, sizes[0], data, sizes[1])
    code.ZSTD_freeCCtx(context)
    return room.raw[:done]


def launcher(shop: Workshop, frame: bytes, made: Path) -> None:
    """The file: launch.c, the part of zstd that unpacks, and the frame."""
    lib = shop.top("libzstd") / "lib"
    where = shop.folder / "launcher"
    where.mkdir(exist_ok=True)
    (where / "payload").write_bytes(frame)
    (where / "payload.S").write_text(
        ".section .rodata\n.balign 16\n.global payload, payload_end\n"
        'payload:\n.incbin "payload"\npayload_end:\n.section .note.GNU-stack,"",%progbits\n'
    )
    shutil.copy(HERE / "launch.c", where)
    sources = [p for d in ("common", "decompress") for p in sorted((lib / d).glob("*.c"))]
    key = hashlib.sha256(frame).hexdigest()[:32]
    shop.run([shop.zig, "cc", "-target", f"{shop.machine}-linux-musl", "-static", "-O2", "-g0",
              "-s", "-std=gnu11", "-Wall", "-Wextra", "-fno-sanitize=all", "-DZSTD_DISABLE_ASM",
              f'-DKEY="{key}"', f"-I{lib}", "launch.c", "payload.S", *sources, "-o", "made"],
             where)  # fmt: skip
    made.parent.mkdir(exist_ok=True)
    shutil.copy(where / "made", f"{made}.new")
    os.chmod(f"{made}.new", 0o755)
    os.replace(f"{made}.new", made)


def shop_of(lock: locked.Lock, machine: str, build: Path) -> Workshop:
    """The folder of a machine; it is another one for other sources or another recipe."""
    recipe = (HERE / "interpreter.py").read_bytes() + repr(
        [one for one in lock.inputs if one.kind == "source" or one.name == "ziglang"]
    ).encode()
    folder = build / f"{machine}-{hashlib.sha256(recipe).hexdigest()[:12]}"
    folder.mkdir(parents=True, exist_ok=True)
    return Workshop(lock, build / "inputs", folder, machine)


def make(machine: str, build: Path = BUILD, dist: Path = REPO / "dist") -> Path:
    """Build the file for a machine."""
    lock = locked.read()
    locked.fetch(lock, build / "inputs", machine)
    here = shop_of(lock, "x86_64", build)
    native = compiled(here) / "python"
    shop = here if machine == here.machine else shop_of(lock, machine, build)
    top = compiled(shop, native)
    packer = zstd(shop)
    frame = squeezed(packer, packed(gather(shop, top, native)))
    made = dist / f"nettop-{machine}"
    launcher(shop, frame, made)
    (dist / f"{made.name}.cdx.json").write_text(bill(lock, machine, made))
    return made


def main() -> int:
    """Build for the machines of the command line, or all."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("machine", nargs="*", help=" ".join(locked.MACHINES))
    parser.add_argument("--build", type=Path, default=BUILD)
    parser.add_argument("--dist", type=Path, default=REPO / "dist")
    args = parser.parse_args()
    if os.uname().machine != "x86_64":
        sys.exit("make binary needs a host with x86_64: it builds for the others too")
    for machine in args.machine or locked.MACHINES:
        made = make(machine, args.build.absolute(), args.dist.absolute())
        size = made.stat().st_size / (1 << 20)
        print(f"{locked.sha256(made)}  {os.path.relpath(made)}  {size:.1f} MiB")
    return 0


if __name__ == "__main__":
    sys.exit(main())
