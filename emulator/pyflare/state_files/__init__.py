"""The state of wrangler's local mode as files: read into owners, and written from them.

Source: `packages/miniflare/src/plugins` and `src/workers/shared` of workers-sdk, for the places and the tables.
"""

from __future__ import annotations
