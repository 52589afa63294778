"""``Content-Type`` from the extension of a file's name, as the upload of assets decides it.

Source: https://developers.cloudflare.com/workers/static-assets/headers/ ; the types are those that IANA has registered
for an extension, or that are customary.
"""

from __future__ import annotations

from typing import Final

__all__ = ["content_type"]

_TYPES: Final = """
application/atom+xml atom
application/dash+xml mpd
application/epub+zip epub
application/geo+json geojson
application/gpx+xml gpx
application/gzip gz
application/java-archive jar
application/java-vm class
application/json json map
application/json5 json5
application/ld+json jsonld
application/manifest+json webmanifest
application/mathml+xml mathml
application/msword doc
application/node cjs
application/octet-stream bin deb dll dmg exe img iso msi
application/pdf pdf
application/pgp-encrypted pgp
application/pgp-signature asc sig
application/postscript ai eps ps
application/rdf+xml rdf
application/rss+xml rss
application/rtf rtf
application/toml toml
application/vnd.android.package-archive apk
application/vnd.apple.mpegurl m3u8
application/vnd.apple.pkpass pkpass
application/vnd.google-earth.kml+xml kml
application/vnd.google-earth.kmz kmz
application/vnd.ms-excel xls
application/vnd.ms-fontobject eot
application/vnd.ms-powerpoint ppt
application/vnd.oasis.opendocument.spreadsheet ods
application/vnd.oasis.opendocument.text odt
application/vnd.openxmlformats-officedocument.presentationml.presentation pptx
application/vnd.openxmlformats-officedocument.spreadsheetml.sheet xlsx
application/vnd.openxmlformats-officedocument.wordprocessingml.document docx
application/vnd.rar rar
application/wasm wasm
application/x-7z-compressed 7z
application/x-bittorrent torrent
application/x-bzip2 bz2
application/x-httpd-php php
application/x-pkcs12 p12
application/x-sh sh
application/x-shockwave-flash swf
application/x-sql sql
application/x-subrip srt
application/x-tar tar
application/x-x509-ca-cert crt der pem
application/x-xpinstall xpi
application/x-xz xz
application/xhtml+xml xhtml
application/xml xml xsd xsl
application/xml-dtd dtd
application/xslt+xml xslt
application/zip zip
audio/midi mid midi
audio/mp4 m4a
audio/mpeg mp3
audio/ogg oga ogg opus
audio/wav wav
audio/webm weba
audio/x-aac aac
audio/x-aiff aif aiff
audio/x-flac flac
font/collection ttc
font/otf otf
font/ttf ttf
font/woff woff
font/woff2 woff2
image/apng apng
image/avif avif
image/bmp bmp
image/gif gif
image/heic heic
image/heif heif
image/jp2 jp2
image/jpeg jpe jpeg jpg
image/png png
image/svg+xml svg svgz
image/tiff tif tiff
image/vnd.adobe.photoshop psd
image/vnd.microsoft.icon ico
image/webp webp
message/rfc822 eml
model/gltf+json gltf
model/gltf-binary glb
model/obj obj
model/stl stl
model/vnd.usdz+zip usdz
text/cache-manifest appcache manifest
text/calendar ics
text/coffeescript coffee
text/css css
text/csv csv
text/html htm html shtml
text/javascript js mjs
text/jsx jsx
text/less less
text/markdown markdown md
text/mathml mml
text/n3 n3
text/plain conf ini list log text txt
text/tab-separated-values tsv
text/turtle ttl
text/vtt vtt
text/x-c c h
text/x-handlebars-template hbs
text/x-java-source java
text/x-sass sass
text/x-scss scss
text/x-vcard vcf
text/yaml yaml yml
video/3gpp 3gp
video/mp2t ts
video/mp4 mp4
video/mpeg mpeg mpg
video/ogg ogv
video/quicktime mov
video/webm webm
video/x-flv flv
video/x-m4v m4v
video/x-matroska mkv
video/x-ms-wmv wmv
video/x-msvideo avi
"""

_BY_EXTENSION: Final = {
    extension: f"{kind}; charset=utf-8" if kind.startswith("text/") else kind
    for kind, *extensions in map(str.split, _TYPES.strip().splitlines())
    for extension in extensions
}


def content_type(name: str) -> str | None:
    """The type of a file of this name; text has its charset. ``None``, and no header, for unknown extensions."""
    stem, dot, extension = name.rpartition("/")[2].rpartition(".")
    return _BY_EXTENSION.get(extension.lower()) if dot and stem else None
