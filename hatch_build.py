"""Makes README.md the page of the package on an index, and refuses to build a wheel without the linked folders.

On an index, links need the address of the repository.

`VOCABLESS_REPOSITORY` in the environment is this address, such as https://github.com/OWNER/NAME; the release workflow
sets it. Without it, as in a clone, links stay relative to the README.
"""

import os
import re
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface
from hatchling.metadata.plugin.interface import MetadataHookInterface

REPOSITORY = "VOCABLESS_REPOSITORY"


class IndexPage(MetadataHookInterface):
    """Gives hatchling the text of the page."""

    def update(self, metadata: dict[str, Any]) -> None:
        """Writes the fields `readme` and, if the address is known, `urls`."""
        text, address = Path(self.root, "README.md").read_text(encoding="utf-8"), os.environ.get(REPOSITORY)
        if address:
            text = with_addresses(text, address, f"v{metadata['version']}")
            metadata["urls"] = {"Repository": address, "Changelog": f"{address}/blob/main/CHANGELOG.md"}
        metadata["readme"] = {"content-type": "text/markdown", "text": text}


class WholePackage(BuildHookInterface):  # type: ignore[type-arg]
    """Refuses to build from a clone without links: the wheel would lack most folders of the package."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Raises ValueError if vocabless/modeling is no folder. An editable installation needs no links."""
        if version != "editable" and not Path(self.root, "vocabless", "modeling").is_dir():
            raise ValueError(
                "vocabless/modeling is no folder, because this clone has no symbolic links; run "
                "git config core.symlinks true and check the files out again, or install with -e."
            )


def with_addresses(text: str, repository: str, tag: str) -> str:
    """Returns a page with addresses of the files and pictures in place of their paths in the repository.

    >>> with_addresses("[guide](docs/hub.md#push), [site](https://a.b) <img src='a.png'>", "https://h/o/n", "v1")
    "[guide](https://h/o/n/blob/v1/docs/hub.md#push), [site](https://a.b) <img src='https://h/o/n/raw/v1/a.png'>"
    """
    text = re.sub(r"\]\((?![a-z]+:|#)", f"]({repository}/blob/{tag}/", text)
    return re.sub(r"""((?:src|srcset)=["'])(?![a-z]+:)""", rf"\g<1>{repository}/raw/{tag}/", text)
