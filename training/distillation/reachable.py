"""Finds out within seconds that the Hub does not answer: its client tries again for minutes."""

import os

from huggingface_hub import constants, get_hf_file_metadata, hf_hub_url, try_to_load_from_cache
from huggingface_hub.errors import HfHubHTTPError, OfflineModeIsEnabled

from vocabless.saving.error_text import first_line
from vocabless.saving.uploads import CLIENT_ERROR

CONFIG = "config.json"


def check_reachable(source: str, revision: str = "main") -> None:
    """Asks the Hub once for a teacher. A folder, one that is cached, and any answer of the Hub pass.

    Raises:
        ValueError: the Hub does not answer within `HF_HUB_ETAG_TIMEOUT` seconds.
    """
    seconds = constants.HF_HUB_ETAG_TIMEOUT
    try:
        if os.path.exists(source) or isinstance(try_to_load_from_cache(source, CONFIG, revision=revision), str):
            return
        get_hf_file_metadata(hf_hub_url(source, CONFIG, revision=revision), timeout=seconds)
    except (HfHubHTTPError, OfflineModeIsEnabled, ValueError):
        return  # loading tells what is wrong
    except (OSError, CLIENT_ERROR) as error:
        raise ValueError(
            f"the teacher {source!r} cannot be loaded: {constants.ENDPOINT} does not answer within {seconds} s "
            f"({first_line(error)}); check the network, or give a folder."
        ) from error
