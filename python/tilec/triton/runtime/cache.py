"""Files by the hash of what they were made of, below TRITON_CACHE_DIR, where other programs look for them.

What libtilec compiles it keeps itself (docs/caches.md); here lie the files that Triton's users find beside it."""
import base64
import functools
import hashlib
import json
import os
import tempfile
from abc import ABC, abstractmethod

from tilec.triton import knobs
from tilec.triton.version import __version__


class CacheManager(ABC):
    """Files of one key."""

    def __init__(self, key, override=False, dump=False):
        pass

    @abstractmethod
    def get_file(self, filename):
        """Its path, or None."""

    @abstractmethod
    def put(self, data, filename, binary=True):
        """Writes it, and gives its path."""

    @abstractmethod
    def get_group(self, filename):
        """{name: path} of files that were put down together, or None."""

    @abstractmethod
    def put_group(self, filename, group):
        pass


class FileCacheManager(CacheManager):
    """In a folder of its own, which processes share: files appear whole."""

    def __init__(self, key, override=False, dump=False):
        root = knobs.cache.dump_dir if dump else knobs.cache.override_dir if override else knobs.cache.dir
        if not root:
            raise RuntimeError("Could not create or locate cache dir: knobs.cache.dir is empty")
        self.key = key
        self.cache_dir = os.path.join(root, key)
        # Nothing is locked: the name says where Triton's manager would.
        self.lock_path = None if override and not dump else os.path.join(self.cache_dir, "lock")
        if self.lock_path:
            os.makedirs(self.cache_dir, exist_ok=True)

    def _make_path(self, filename):
        return os.path.join(self.cache_dir, filename)

    def has_file(self, filename):
        return os.path.exists(self._make_path(filename))

    def get_file(self, filename):
        return self._make_path(filename) if self.has_file(filename) else None

    def put(self, data, filename, binary=True):
        assert self.lock_path is not None, "files that override others are not written"
        data = data if isinstance(data, bytes) else str(data).encode()
        # Beside its place, under a name of its own: renaming is atomic within one file system.
        handle, path = tempfile.mkstemp(prefix=f".{filename[:64]}.", dir=self.cache_dir)
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(data)
            os.chmod(path, 0o666 & ~_umask())
            os.replace(path, self._make_path(filename))
        except BaseException:
            os.unlink(path)
            raise
        return self._make_path(filename)

    def get_group(self, filename):
        path = self.get_file(f"__grp__{filename}")
        if path is None:
            return None
        with open(path, encoding="utf-8") as file:
            children = json.load(file).get("child_paths")
        return None if children is None else {name: child for name, child in children.items() if os.path.exists(child)}

    def put_group(self, filename, group):
        return self.put(json.dumps({"child_paths": group}), f"__grp__{filename}")


@functools.lru_cache
def _umask():
    """Of the process. It can only be read by setting it, so that happens once."""
    mask = os.umask(0o077)
    os.umask(mask)
    return mask


_REMOTE = "TILEC_REMOTE_CACHE names a server that keeps what is compiled for all (docs/caches.md)"


class RemoteCacheBackend:
    """A name that others derive from; what they make is not called."""

    def __init__(self, key):
        raise NotImplementedError(f"{type(self).__name__}: caches on other machines are not Triton's here: {_REMOTE}")


class RedisRemoteCacheBackend(RemoteCacheBackend):
    pass


class RemoteCacheManager(CacheManager):
    def __init__(self, key, override=False, dump=False):
        raise NotImplementedError(f"RemoteCacheManager is not in tilec: {_REMOTE}")

    get_file = put = get_group = put_group = None


def _base32(key):
    """Of hexadecimal digits."""
    return base64.b32encode(bytes.fromhex(key)).decode().rstrip("=")


def get_cache_manager(key):
    return (knobs.cache.manager_class or FileCacheManager)(_base32(key))


def get_override_manager(key):
    return (knobs.cache.manager_class or FileCacheManager)(_base32(key), override=True)


def get_dump_manager(key):
    return (knobs.cache.manager_class or FileCacheManager)(_base32(key), dump=True)


def make_so_cache_key(version_hash, signature, constants, ids, **kwargs):
    """Of a launcher that somebody builds for a signature: pointers to whatever are one."""
    kinds = "".join("ptr" if kind.startswith("*") else kind for kind in signature.values())
    text = "-".join(map(str, (version_hash, kinds, constants, ids, *kwargs.values())))
    return _base32(hashlib.sha256(text.encode()).hexdigest())


@functools.lru_cache
def triton_key():
    """What the compiler is: another one makes other code."""
    from tilec import _tilec

    return f"{__version__}-tilec-{_tilec.version()}-{_tilec.build_id()}"


def get_cache_key(src, backend, backend_options, env_vars):
    return f"{triton_key()}-{src.hash()}-{backend.hash()}-{backend_options.hash()}-{sorted(env_vars.items())}"
