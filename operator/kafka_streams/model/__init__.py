"""The domain as frozen values: releases, ways, what is desired and what was observed. No I/O."""
