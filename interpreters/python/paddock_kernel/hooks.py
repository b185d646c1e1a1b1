"""Adjusts libraries in the moment the user's code imports them, and costs nothing until then."""
import importlib.abc
import importlib.util
import sys


class Finder(importlib.abc.MetaPathFinder):
    """Lets the others find a module, and runs our step after it was loaded."""

    def __init__(self, steps):
        self.steps, self.busy = steps, set()

    def find_spec(self, name, path=None, target=None):
        if name not in self.steps or name in self.busy:
            return None
        self.busy.add(name)
        try:
            spec = importlib.util.find_spec(name)
        finally:
            self.busy.discard(name)
        if spec is None or spec.loader is None or not hasattr(spec.loader, "exec_module"):
            return None
        spec.loader = Loader(spec.loader, self.steps[name])
        return spec


class Loader(importlib.abc.Loader):
    def __init__(self, loader, step):
        self._loader, self._step = loader, step

    def __getattr__(self, name):
        return getattr(self._loader, name)

    def create_module(self, spec):
        return self._loader.create_module(spec)

    def exec_module(self, module):
        self._loader.exec_module(module)
        module.__spec__.loader = module.__loader__ = self._loader
        try:
            self._step(module)
        except Exception:
            pass  # an unknown version of a library still works, without what we add


def matplotlib_loaded(matplotlib):
    from . import figures
    figures.prepare(matplotlib)


def pyplot_loaded(pyplot):
    from . import figures
    figures.take_over(pyplot)


def image_loaded(image):
    from . import images
    images.take_over(image)


def install():
    sys.meta_path.insert(0, Finder({
        "matplotlib": matplotlib_loaded,
        "matplotlib.pyplot": pyplot_loaded,
        "PIL.Image": image_loaded,
    }))
