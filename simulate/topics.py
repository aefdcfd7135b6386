"""The catalogue: what a simulated support case can be about.

Every topic tells one incident from two sides, *first* and *second*. A case names both; a summary may
tell either and is equally faithful and complete. That is what makes a content shift without a change
of quality possible. The clauses hold no digits, quotes or capitals, so that the identifiers around
them are the only details of a case, and a perturbed prompt is answered in the catalogue's spelling.
"""

from __future__ import annotations

from typing import Final, NamedTuple


class Side(NamedTuple):
    """One side of an incident: three clauses without a final mark."""

    problem: str
    event: str
    fix: str


class Topic(NamedTuple):
    """One kind of incident."""

    name: str
    """Two or three words; also the key."""
    first: Side
    second: Side


TOPICS: Final = (
    Topic(
        "remote access",
        Side(
            "the remote access tunnel drops a few minutes after every login",
            "the gateway began to reject keepalive packets",
            "the keepalive interval was matched on both ends and the tunnel now stays up all day",
        ),
        Side(
            "home workers lose their mapped drives whenever the client reconnects",
            "a firmware push shortened the idle timer of the concentrator",
            "a patched client maps the drives again after each reconnect",
        ),
    ),
    Topic(
        "office printing",
        Side(
            "print jobs hang in the spooler and never reach the tray",
            "the spooler service crashed on a newly deployed driver package",
            "the faulty driver package was rolled back and the spooler restarted",
        ),
        Side(
            "duplex pages come out blank on the accounting floor",
            "toner sensors reported empty cartridges although fresh ones were fitted",
            "the sensors were recalibrated and the duplex unit was exchanged",
        ),
    ),
    Topic(
        "outgoing mail",
        Side(
            "outgoing mail stays in the outbox and bounces a day later",
            "the mail relay refused the sender signature after a key rotation",
            "the rotated key was published again and the queued mail went out",
        ),
        Side(
            "newsletters are flagged as spam by most recipients",
            "the reputation score of the bulk sender fell below the accepted limit",
            "newsletters were given their own relay with a clean reputation",
        ),
    ),
    Topic(
        "account lockout",
        Side(
            "staff are locked out of their accounts soon after changing a password",
            "an old phone kept sending the previous credentials to the directory",
            "stale credentials were wiped from the phones and the accounts unlocked",
        ),
        Side(
            "the self-service reset form rejects every passphrase as too weak",
            "the complexity policy had been replicated twice with conflicting lengths",
            "the duplicate policy was deleted and the reset form takes passphrases again",
        ),
    ),
    Topic(
        "wireless network",
        Side(
            "wireless laptops fall off the network when people walk between floors",
            "neighbouring access points were broadcasting on the same channel",
            "the channel plan was recalculated and roaming is smooth again",
        ),
        Side(
            "guests in the lobby never get to see the captive portal",
            "a conference used up every address in the guest lease pool",
            "the guest lease pool was enlarged and its lifetime cut to one hour",
        ),
    ),
    Topic(
        "database storage",
        Side(
            "the order database refuses new rows because its volume is full",
            "transaction logs piled up while log shipping was paused",
            "log shipping was resumed and old transaction logs were truncated",
        ),
        Side(
            "nightly reports arrive empty since the archive tables cannot grow",
            "an index rebuild doubled the footprint of the archive",
            "the archive tables were moved to a larger striped pool",
        ),
    ),
    Topic(
        "nightly backup",
        Side(
            "the backup stops halfway and leaves an unusable set behind",
            "the tape library lost contact with its robot arm",
            "the robot arm was replaced and a full backup completed cleanly",
        ),
        Side(
            "restore tests of the file server end in a checksum mismatch",
            "deduplicated chunks were pruned while a copy was being verified",
            "pruning now waits for verification and the restore tests pass",
        ),
    ),
    Topic(
        "certificate trust",
        Side(
            "browsers warn that the intranet certificate is no longer valid",
            "the automatic renewal failed to answer the challenge of the authority",
            "the certificate was reissued by hand and renewal uses another challenge",
        ),
        Side(
            "the supplier interface turns our handshake down as untrusted",
            "an intermediate authority was withdrawn from the trust list",
            "a chain with the newer intermediate was installed on the interface",
        ),
    ),
    Topic(
        "single sign-on",
        Side(
            "single sign-on sends employees round in an endless redirect loop",
            "session cookies were dropped once browsers tightened a default",
            "the cookies carry the right attribute and the redirect loop is gone",
        ),
        Side(
            "contractors get an access denied page after choosing their identity provider",
            "group claims were trimmed because the assertion had grown too long",
            "claims are filtered to the needed groups and contractors get in",
        ),
    ),
    Topic(
        "name resolution",
        Side(
            "internal names resolve only now and then from the depot subnet",
            "one of the resolvers answered from a corrupted zone copy",
            "the zone copy was transferred afresh and the resolvers agree",
        ),
        Side(
            "the public website shows an outdated address to visitors abroad",
            "a registrar transfer left stale delegation records behind",
            "the delegation was corrected at the registrar and caches were flushed",
        ),
    ),
    Topic(
        "docked laptops",
        Side(
            "docked laptops freeze as soon as a second monitor is attached",
            "the docking stations negotiated too little power for both monitors",
            "the docking stations were updated to negotiate the full power budget",
        ),
        Side(
            "batteries drain overnight although the lids are shut",
            "a wake timer of the inventory agent kept the machines out of sleep",
            "the wake timer was disabled by policy and batteries last again",
        ),
    ),
    Topic(
        "web shop",
        Side(
            "the checkout page takes half a minute to load",
            "the cache cluster evicted its hot keys during a campaign",
            "the cache cluster was given more memory and checkout is quick again",
        ),
        Side(
            "shoppers find items twice in their basket after paying",
            "payment callbacks were repeated without an idempotency token",
            "callbacks are deduplicated by token and doubled items were refunded",
        ),
    ),
    Topic(
        "payroll run",
        Side(
            "the payroll run aborts before the bank file is written",
            "a cost centre was deleted while the run still referred to it",
            "the cost centre was restored and the bank file was written in time",
        ),
        Side(
            "overtime hours of shift workers are missing from their payslips",
            "the timesheet export changed its column order without notice",
            "columns are mapped by title and the missing overtime was paid",
        ),
    ),
    Topic(
        "hotline telephony",
        Side(
            "callers to the hotline hear silence instead of the greeting",
            "the media gateway switched to a codec that the carrier does not accept",
            "the accepted codec was pinned and callers hear the greeting again",
        ),
        Side(
            "recorded conversations cannot be played back by supervisors",
            "the recording vault was mounted read-only after a failover",
            "the vault was remounted and the missing recordings were imported",
        ),
    ),
    Topic(
        "file shares",
        Side(
            "the engineering share denies access to drawings that were open yesterday",
            "inherited permissions broke when a parent folder was moved",
            "inheritance was repaired and engineers open their drawings again",
        ),
        Side(
            "deleted folders reappear in the project area every morning",
            "the sync partners disagreed about which copy was newer",
            "the outdated sync partner was reset and folders stay deleted",
        ),
    ),
    Topic(
        "video meetings",
        Side(
            "video meetings turn into frozen pictures after a while",
            "traffic shaping put the camera streams into the lowest class",
            "camera streams were moved to a higher class and pictures are fluid",
        ),
        Side(
            "room panels show empty rooms as booked",
            "the calendar connector stopped releasing cancelled bookings",
            "the connector was authorised again and empty rooms are released",
        ),
    ),
    Topic(
        "virus scanner",
        Side(
            "the virus scanner quarantines the bookkeeping program on every start",
            "a signature update matched a harmless library of the program",
            "the signature was withdrawn and the library left quarantine",
        ),
        Side(
            "full scans slow the design workstations down to a crawl",
            "the exclusion list was lost when the scan console migrated",
            "the exclusion list was restored and scans run at lunch",
        ),
    ),
    Topic(
        "company phones",
        Side(
            "company phones refuse to enrol after being wiped",
            "enrolment tokens had been revoked together with a retired profile",
            "fresh enrolment tokens were issued and the phones join again",
        ),
        Side(
            "the field app logs technicians out in the middle of a visit",
            "the push service throttled the refresh messages of the app",
            "the app refreshes by itself and technicians finish their visits",
        ),
    ),
    Topic(
        "software builds",
        Side(
            "software builds fail at random while fetching dependencies",
            "the package mirror served truncated archives under load",
            "the mirror was rebuilt and builds fetch complete archives",
        ),
        Side(
            "released installers lack their digital signature",
            "the signing dongle was unplugged while the rack was tidied",
            "the dongle is back and the installers were signed afresh",
        ),
    ),
    Topic(
        "warehouse scanning",
        Side(
            "barcode scanners in the warehouse lose half of their readings",
            "a terminal upgrade changed the suffix that ends each reading",
            "the suffix is configured centrally and all readings are booked",
        ),
        Side(
            "pallet labels carry the wrong destination",
            "the routing table was loaded from a trial environment",
            "the routing table was reloaded and the pallet labels replaced",
        ),
    ),
    Topic(
        "supplier invoices",
        Side(
            "supplier invoices stay unposted in the purchasing ledger",
            "the workflow waited for an approver who had left",
            "a deputy approver was assigned and the invoices were posted",
        ),
        Side(
            "tax amounts are rounded differently from the paper documents",
            "a decimal setting was overwritten by a regional template",
            "the regional template was fixed and tax amounts agree again",
        ),
    ),
    Topic(
        "virtual machines",
        Side(
            "virtual machines pause for seconds when snapshots are taken",
            "the storage array throttled writes during its rebuild",
            "snapshots were moved outside the rebuild window and the pauses vanished",
        ),
        Side(
            "newly cloned guests start with a clock that is hours behind",
            "the hypervisor lost its time source after a switch failure",
            "another time source was added and the clones keep correct time",
        ),
    ),
    Topic(
        "door access",
        Side(
            "door readers at the laboratory reject valid badges",
            "the badge controller lost its cached list in a power cut",
            "the cached list was reloaded and the controller got emergency power",
        ),
        Side(
            "the visitor kiosk prints passes without a photograph",
            "the kiosk camera module was removed by a cleaning script",
            "the camera module was reinstalled and passes show photographs",
        ),
    ),
    Topic(
        "customer search",
        Side(
            "customer search in the sales portal returns nothing for common surnames",
            "the search index was left half built by an interrupted upgrade",
            "the search index was built from scratch and surnames are found again",
        ),
        Side(
            "duplicates of merged contacts show up in mailing lists",
            "the merge job skipped contacts with umlauts in their street",
            "the merge job was rerun with proper collation and the lists are clean",
        ),
    ),
)
"""All topics, in no particular order."""
