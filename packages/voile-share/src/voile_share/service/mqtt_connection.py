"""One connection to an MQTT broker, driven by the event loop.

paho-mqtt connects in a thread, since that waits for names, TCP and TLS; from then on the loop reads
and writes, so all callbacks run in it.  paho-mqtt because it lets us acknowledge a message when we
have dealt with it; aiomqtt, which is built on it, acknowledges when a message comes in.

The session outlives the connection: the broker keeps what comes while the service is away, and
sends again what was not acknowledged.  Version 5 also bounds for how long, how much is on its way
unacknowledged, and how long a message may be, and keeps retained messages from being sent.
"""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import Callable
from socket import gaierror
from typing import TYPE_CHECKING, Any

from voile_base.errors import VoileError
from voile_share.service.broker import Broker

if TYPE_CHECKING:
    from paho.mqtt.client import Client, MQTTMessage
    from paho.mqtt.properties import Properties
    from paho.mqtt.reasoncodes import ReasonCode

__all__ = ["BrokerConnection", "BrokerError"]

_KEEPALIVE = 30
"""Seconds; a broker that is silent for twice as long is given up."""
_CONNECT_SECONDS = 5.0
_ANSWER_SECONDS = 10.0
_QUALITY = 1
"""Of service: at least once."""
_HOUR = 3_600


class BrokerError(VoileError):
    """The broker cannot be reached or has gone; one may try again."""


class BrokerConnection:
    """One connection; to be used once, and by one event loop."""

    def __init__(
        self,
        broker: Broker,
        take: Callable[[MQTTMessage], None],
        *,
        most_unacknowledged: int,
        most_bytes: int,
    ) -> None:
        """``take`` is called for each message; it may call ``pause``."""
        self._broker = broker
        self._take = take
        self._bounds = (most_unacknowledged, most_bytes)
        self._loop = asyncio.get_running_loop()
        self._subscribed = self._loop.create_future()
        self._ended: asyncio.Future[Exception] = self._loop.create_future()
        self._paused = False
        self._client = self._made()

    async def open(self) -> None:
        """Connect and subscribe; raises ``BrokerError``."""
        connecting = asyncio.ensure_future(asyncio.to_thread(self._connect))
        try:
            await asyncio.shield(connecting)
        except asyncio.CancelledError:
            connecting.add_done_callback(self._unwanted)
            raise
        except (OSError, ValueError) as error:
            raise self._error(_reason(error)) from None
        self._listen()
        await asyncio.wait(
            {self._subscribed, self._ended},
            timeout=_ANSWER_SECONDS,
            return_when=asyncio.FIRST_COMPLETED,
        )
        if self._ended.done():
            raise self._ended.result()
        if not self._subscribed.done():
            raise self._error("it does not answer")

    async def lost(self) -> None:
        """Keep the connection alive until it is lost; raises ``BrokerError`` then."""
        while not self._ended.done():
            await asyncio.wait({self._ended}, timeout=_KEEPALIVE / 4)
            self._client.loop_misc()
            self._write()
        raise self._ended.result()

    def acknowledge(self, message: MQTTMessage) -> None:
        """The broker need not send it again."""
        if not self._ended.done():
            self._client.ack(message.mid, message.qos)
            self._write()

    def pause(self) -> None:
        """Read no more; where that lasts for long the broker ends the connection."""
        self._paused = True
        self._silence()

    def resume(self) -> None:
        """Read again."""
        self._paused = False
        self._listen()

    def close(self) -> None:
        """End the connection, not the session."""
        self._client.disconnect()
        self._client.loop_write()
        self._end("closed")

    def _unwanted(self, connecting: asyncio.Future[None]) -> None:
        """Close what was opened when nobody waited for it any more."""
        if not connecting.cancelled() and connecting.exception() is None:
            self.close()

    def _made(self) -> Client:
        from paho.mqtt.client import Client  # noqa: PLC0415 - of an extra
        from paho.mqtt.enums import CallbackAPIVersion, MQTTProtocolVersion  # noqa: PLC0415

        broker, newer = self._broker, self._is_newer
        client = Client(
            CallbackAPIVersion.VERSION2,
            broker.client_id,
            clean_session=None if newer else False,
            protocol=MQTTProtocolVersion.MQTTv5 if newer else MQTTProtocolVersion.MQTTv311,
            reconnect_on_failure=False,
            manual_ack=True,
        )
        client.connect_timeout = _CONNECT_SECONDS
        if broker.user:
            client.username_pw_set(broker.user, broker.password())
        if (context := broker.tls_context()) is not None:
            client.tls_set_context(context)
        client.on_connect = self._connected
        client.on_subscribe = self._answered
        client.on_message = lambda client, data, message: self._take(message)
        client.on_disconnect = lambda client, data, flags, why, more: self._end(str(why))
        client.on_socket_close = lambda client, data, socket: self._silence()
        return client

    @property
    def _is_newer(self) -> bool:
        return self._broker.version == "5"

    def _connect(self) -> None:
        """Of a thread."""
        host, port = self._broker.where
        if self._is_newer:
            self._client.connect(
                host, port, _KEEPALIVE, clean_start=False, properties=self._properties()
            )
        else:
            self._client.connect(host, port, _KEEPALIVE)

    def _properties(self) -> Properties:
        from paho.mqtt.packettypes import PacketTypes  # noqa: PLC0415 - of an extra
        from paho.mqtt.properties import Properties  # noqa: PLC0415

        asked: Properties = Properties(PacketTypes.CONNECT)  # type: ignore[no-untyped-call]
        asked.SessionExpiryInterval = round(self._broker.session_hours * _HOUR)
        asked.ReceiveMaximum, asked.MaximumPacketSize = self._bounds
        return asked

    def _connected(
        self, client: Client, data: object, flags: object, why: ReasonCode, more: object
    ) -> None:
        """Subscribe again each time: a broker that was started again may know nothing of us."""
        if why.is_failure:
            self._end(f"it refuses us: {why}")
        elif self._is_newer:
            from paho.mqtt.subscribeoptions import SubscribeOptions  # noqa: PLC0415 - of an extra

            options = SubscribeOptions(_QUALITY, retainHandling=SubscribeOptions.RETAIN_DO_NOT_SEND)
            client.subscribe(self._broker.topic, options=options)
        else:
            client.subscribe(self._broker.topic, _QUALITY)

    def _answered(
        self, client: Client, data: object, number: int, whys: list[ReasonCode], more: object
    ) -> None:
        if any(why.is_failure for why in whys):
            self._end(f"it does not let us subscribe to {self._broker.topic}")
        elif not self._subscribed.done():
            self._subscribed.set_result(None)

    def _listen(self) -> None:
        socket = self._client.socket()
        if socket is not None and not self._paused:
            self._loop.add_reader(socket, self._read)
            self._loop.call_soon(self._read)  # TLS may hold more than the socket

    def _silence(self) -> None:
        socket = self._client.socket()
        if socket is not None:
            self._loop.remove_reader(socket)
            self._loop.remove_writer(socket)

    def _read(self) -> None:
        """Take what has come."""
        again = True
        while again and not self._paused and not self._ended.done():
            try:
                if self._client.loop_read():
                    self._end("the connection was lost")
            except Exception as error:  # of paho-mqtt, where the broker does not speak MQTT
                self._fail(error)
            socket: Any = self._client.socket()
            again = bool(self._broker.tls and socket is not None and socket.pending())
        self._write()

    def _write(self) -> None:
        """Send what waits, and the rest when the socket takes more."""
        socket = self._client.socket()
        if socket is None or self._ended.done():
            return
        if self._client.loop_write():
            self._end("the connection was lost")
        elif self._client.want_write():
            self._loop.add_writer(socket, self._write)
        else:
            self._loop.remove_writer(socket)

    def _end(self, why: str) -> None:
        self._fail(self._error(why))

    def _fail(self, error: Exception) -> None:
        if not self._ended.done():
            self._ended.set_result(error)

    def _error(self, why: str) -> BrokerError:
        return BrokerError(f"the MQTT broker {self._broker.name}: {why}")


def _reason(error: Exception) -> str:
    """Why there is no connection, in words of the system."""
    match error:
        case ssl.SSLCertVerificationError():
            return f"its certificate is not believed ({error.verify_message})"
        case ssl.SSLError():
            return f"it does not speak TLS as we do ({error.reason})"
        case gaierror():
            return "its name is not known"
        case TimeoutError():
            return "it does not answer"
        case OSError():
            return f"it cannot be reached ({error.strerror})"
    return "its host is none"
