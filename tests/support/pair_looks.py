"""What both ends of a flow counted at a moment."""

from typing import Any

from flow_tables import socket

from nettop.facts.pair.losses import Counts, FlowRows

MSS = 1000


def look(
    at: float, *, sent: int, lost: int = 0, flying: int = 0, refused: int = 0, ahead: int = 0,
    drops: int = 0, merged: int = 1, leaving: dict[str, float] | None = None,
    arriving: dict[str, float] | None = None,
) -> FlowRows:  # fmt: skip
    """`sent` new segments, `lost` of them sent again; `ahead` are sent while the other is read."""

    def sender(new: int) -> Any:
        return socket(
            1, mss=MSS, data_segs_out=new + lost + refused, bytes_sent=(new + lost + refused) * MSS,
            bytes_retrans=lost * MSS, total_retrans=lost, dsack_dups=0, unacked=flying, notsent=0,
            bytes_acked=(new - flying) * MSS, send_q=flying * MSS,
        )  # fmt: skip

    arrived = sent - flying
    far = socket(2, data_segs_in=arrived // merged, bytes_received=arrived * MSS, drops=drops)
    names = {"qdisc": "tbf", "backlog": "backlog of its CPUs", "ring": "eth0", "tx-ring": "eth0"}
    return FlowRows(
        at, (sender(sent), sender(sent + ahead)), (far, far),
        Counts(leaving or {"qdisc": 0.0}, names), Counts(arriving or {"backlog": 0.0}, names),
    )  # fmt: skip
