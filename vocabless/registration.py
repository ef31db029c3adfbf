"""Registers the classes of this package with the Auto classes of transformers, as soon as both are imported.

`import vocabless` alone imports neither torch nor transformers, which take seconds. The classes are registered when a
class of ours or an Auto class is first imported.
"""

import sys
from collections.abc import Sequence
from importlib import import_module
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder
from types import ModuleType

AUTO_CLASSES = "transformers.models.auto"
CLASSES = ("vocabless.modeling.configuration_vocabless", "vocabless.tokenization.tokenization_vocabless")


def register() -> None:
    """Registers the classes and pipelines of this package, and makes them write their code where they are saved."""
    import transformers

    modeling = import_module("vocabless.modeling.modeling_vocabless")
    import_module("vocabless.modeling.pipelines_vocabless")  # gives loaded models their pipelines
    from vocabless.joined_code import save_with_code
    from vocabless.modeling.configuration_vocabless import AUTO_MAP, VocablessConfig
    from vocabless.tokenization.tokenization_vocabless import VocablessTokenizer

    transformers.AutoConfig.register("vocabless", VocablessConfig)
    transformers.AutoTokenizer.register(VocablessConfig, VocablessTokenizer)  # type: ignore[no-untyped-call]
    for auto_class, path in AUTO_MAP.items():
        if auto_class != "AutoConfig":
            getattr(transformers, auto_class).register(VocablessConfig, getattr(modeling, path.partition(".")[2]))
    save_with_code()


class Registration(MetaPathFinder):
    """Calls `register` after the import of a class of ours or of the Auto classes.

    Modules of both packages import each other, so it waits for the end of the outermost import.
    """

    def __init__(self) -> None:
        self.depth = 0  # of nested imports that it looks at
        self.is_done = False

    def find_spec(self, name: str, path: Sequence[str] | None, target: ModuleType | None = None) -> ModuleSpec | None:
        """Returns the module that Python itself finds; None for those of other packages."""
        is_looked_at = name.startswith(("transformers.", "vocabless."))
        spec = PathFinder.find_spec(name, path, target) if is_looked_at else None
        if spec is not None and spec.loader is not None:
            execute = spec.loader.exec_module

            def execute_and_register(module: ModuleType) -> None:
                self.depth += 1
                try:
                    execute(module)
                finally:
                    self.depth -= 1
                self.finish()

            spec.loader.exec_module = execute_and_register  # type: ignore[method-assign]
        return spec

    def finish(self) -> None:
        """Registers the classes, once, unless an import is going on or nothing needs them."""
        if not self.depth and not self.is_done and any(name in sys.modules for name in (AUTO_CLASSES, *CLASSES)):
            self.is_done = True
            sys.meta_path.remove(self)
            register()
