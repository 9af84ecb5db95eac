"""What can be wrong with an archive, in words for whoever writes or reads one."""

from __future__ import annotations

from kernels.errors import UserError


class ArchiveError(UserError):
    """The archive cannot be taken as it is; nothing of it was kept."""


class RunNotEnded(ArchiveError):
    """A run that is under way has no end to write down."""

    template = "{run} is {state}; a run that has ended can be exported"


class ArchiveTooLarge(ArchiveError):
    """A file over the limit."""

    template = "the archive has {size}; at most {limit} are read (MUCUTLASS_ARCHIVE_MB)"


class ArchiveUnpacksTooLarge(ArchiveError):
    """A small file that would unpack to a huge one."""

    template = "the archive unpacks to {size}, {ratio} times what it takes; {limit} and {most} times are the most"


class NoArchive(ArchiveError):
    """A file that is no zip."""

    template = "the file is no archive of a run ({why}); one that export_run wrote would be right"


class ArchiveTruncated(ArchiveError):
    """A zip of which a part is missing."""

    template = "the archive is cut off or damaged ({why}); the whole file, copied again, would be right"


class ArchiveNewer(ArchiveError):
    """An archive of a later version of the product."""

    template = (
        "the archive has format {found}, written by version {product}; this version reads up to {known}: update it"
    )


class ManifestUnreadable(ArchiveError):
    """A manifest that does not say what it must."""

    template = "manifest.json does not parse ({why})"


class MemberUnsafe(ArchiveError):
    """A member whose name or kind no archive has."""

    template = "the archive holds {name!r} ({why}); it is not unpacked"


class MemberMissing(ArchiveError):
    """A member that the manifest names and the file lacks."""

    template = "the archive lacks {name}, which its manifest names"


class MemberUnlisted(ArchiveError):
    """A member that the manifest does not name."""

    template = "the archive holds {name}, which its manifest does not name"


class ArchiveAltered(ArchiveError):
    """A checksum that is not what the manifest says."""

    template = "{name} was altered: its SHA-256 is {found}, the manifest says {wanted}"


class RecordUnreadable(ArchiveError):
    """A record that does not parse."""

    template = "{member}, line {line}: {why}"


class AlreadyHere(ArchiveError):
    """The same archive again."""

    template = "this archive is here already, as {run}, imported {when}"


class RunNotDeletable(ArchiveError):
    """A run that has not ended cannot be deleted."""

    template = "{run} is {state}; cancel it and delete it once it has ended"
