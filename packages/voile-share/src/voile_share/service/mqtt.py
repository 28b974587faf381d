"""OwnTracks over MQTT: what devices publish at a broker goes where ``/ingest`` goes.

A message is acknowledged to the broker when what becomes of it is final: its report is durable, or
it is refused.  Until then it is tried again, and the next ones of its device wait, so that slots
fill in their order; if this process ends, the broker sends it again.  What was published before is
then recognized by its slot.

Retained messages are ignored: they say where a device was, to whoever subscribes, for as long as
the broker stands.  (Apps that publish with the flag are heard: what a broker hands on as it comes
does not have it.)

Nobody answers a device over MQTT.  So the operator is told why messages are refused, by the reason
alone.

One connection to an MQTT broker, driven by the event loop.

paho-mqtt connects in a thread, since that waits for names, TCP and TLS; from then on the loop reads
and writes, so all callbacks run in it.  paho-mqtt because it lets us acknowledge a message when we
have dealt with it; aiomqtt, which is built on it, acknowledges when a message comes in.

The session outlives the connection: the broker keeps what comes while the service is away, and
sends again what was not acknowledged.  Version 5 also bounds for how long, how much is on its way
unacknowledged, and how long a message may be, and keeps retained messages from being sent.

The MQTT broker that devices publish at, as ``[mqtt]`` of share.toml names it.

The broker knows its devices, and lets each publish to its own topic only: what it delivers under
``owntracks/USER/DEVICE`` is believed to be of the device USER/DEVICE.  Whose users are whose stands
in ``[mqtt.companies]``, so that no company gets what another's devices send by giving a device of
its own the same name.
"""

from __future__ import annotations

import asyncio
import ssl
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from importlib import import_module
from pathlib import Path
from socket import gaierror
from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import Field

from voile_base.errors import InputError, PlanError, VoileError
from voile_base.ondemand import on_demand
from voile_base.values.value import Real, Says, checked
from voile_share.ingest import LIVE, IngestError, decode_owntracks_mqtt, device_of_topic
from voile_share.platform import BusyError
from voile_share.platform.core import secret_text
from voile_share.service.connections import Meter
from voile_share.service.context import ServiceContext, outcome_of
from voile_share.service.options import Port
from voile_share.service.problems import Notices
from voile_share.store import StoreError

if TYPE_CHECKING:
    from paho.mqtt import client as mqtt_client
    from paho.mqtt import enums as mqtt_enums
    from paho.mqtt import packettypes as mqtt_packettypes
    from paho.mqtt import properties as mqtt_properties
    from paho.mqtt import subscribeoptions as mqtt_subscribeoptions
    from paho.mqtt.client import Client, MQTTMessage
    from paho.mqtt.reasoncodes import ReasonCode
else:
    mqtt_client = on_demand("paho.mqtt.client")
    mqtt_enums = on_demand("paho.mqtt.enums")
    mqtt_packettypes = on_demand("paho.mqtt.packettypes")
    mqtt_properties = on_demand("paho.mqtt.properties")
    mqtt_subscribeoptions = on_demand("paho.mqtt.subscribeoptions")

__all__ = ["Broker", "subscribe"]


_MOST_HOURS = 7 * 24
"""A device's position is taken for so long (``ingest.LIVE``)."""
_Company = Annotated[
    str,
    Field(pattern=r"^[0-9a-f]{32}$"),
    Says("the number of a company: 32 hexadecimal digits"),
]


@checked(PlanError)
@dataclass(frozen=True)
class Broker:
    """Where the broker is, and what it is believed; raises ``PlanError``."""

    host: str = ""
    """A name or an address; it must be said."""
    companies: Mapping[str, _Company] = field(default_factory=dict)
    """USER of the topics: the number of the company whose devices they are."""
    port: Port = 0
    """0 takes 8883, or 1883 without TLS."""
    tls: bool = True
    ca_file: str = ""
    """Certificates (PEM) that vouch for the broker, where those of the system do not."""
    user: str = ""
    password_file: str = ""
    """Its first line is the password; only its owner may read it."""
    topic: str = "owntracks/+/+"
    client_id: str = "voile-share"
    """The broker keeps messages under this name while the service is away."""
    version: Literal["5", "3.1.1"] = "5"
    """Of the protocol: 5 or 3.1.1."""
    session_hours: Annotated[Real, Field(gt=0, le=_MOST_HOURS)] = 24.0
    """For how long the broker keeps them; by version 5 only."""

    def __post_init__(self) -> None:
        _check_host(self.host)
        levels = self.topic.split("/")
        if len(levels) != 3 or levels[0] != "owntracks" or not all(map(_is_level, levels[1:])):
            msg = 'topic must be like "owntracks/+/+", or "owntracks/USER/+"'
            raise PlanError(msg)
        if not self.client_id or not self.client_id.isprintable():
            msg = "client_id must be a name: the broker keeps messages under it"
            raise PlanError(msg)
        if self.password_file and not self.user:
            msg = "there is a password_file and no user; name the user"
            raise PlanError(msg)
        _check_companies(self.companies)

    @property
    def name(self) -> str:
        """Host and port, as people write them."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{host}:{self.where[1]}"

    @property
    def where(self) -> tuple[str, int]:
        """Host and port."""
        return self.host, self.port or (8883 if self.tls else 1883)

    def check(self) -> None:
        """Raise ``InputError`` where a library, or a file that is named, is missing or not fit."""
        try:
            import_module("paho.mqtt.client")
        except ImportError:
            msg = "[mqtt] of share.toml needs paho-mqtt: pip install 'voile-share[mqtt]'"
            raise InputError(msg) from None
        self.password()
        self.tls_context()

    def password(self) -> str | None:
        """The password of the user; raises ``InputError``."""
        if not self.password_file:
            return None
        path = Path(self.password_file)
        lines = secret_text(path, "the password of mqtt").splitlines()
        if not lines or not lines[0]:
            msg = f"{path} must hold the password of mqtt in its first line"
            raise InputError(msg)
        return lines[0]

    def tls_context(self) -> ssl.SSLContext | None:
        """How the broker is told from others; None without TLS.  Raises ``InputError``."""
        if not self.tls:
            return None
        path = Path(self.ca_file) if self.ca_file else None
        try:
            context = ssl.create_default_context(cafile=path)
        except (OSError, ValueError) as error:  # of which an SSLError is one
            why = (error.strerror if isinstance(error, OSError) else None) or "it is not PEM"
            msg = f"the certificates of ca_file cannot be read from {path}: {why}"
            raise InputError(msg) from None
        context.sslsocket_class = _Socket
        return context


class _Socket(ssl.SSLSocket):
    """Closes itself where the other end is not believed; paho-mqtt would leave it open."""

    def do_handshake(self, block: bool = False) -> None:
        try:
            super().do_handshake(block)
        except BaseException:
            self.close()
            raise


def _check_host(host: str) -> None:
    try:
        fit = bool(host.encode("idna")) and host.isprintable() and not set(host) & set(" /")
    except UnicodeError:
        fit = False
    if not fit:
        msg = "host must be the name or the address of the broker"
        raise PlanError(msg)


def _is_level(level: str) -> bool:
    """Whether it may be one level of a filter of topics: a name, or any name."""
    return level == "+" or (bool(level) and level.isprintable() and not set(level) & set("+#"))


def _check_companies(companies: Mapping[str, str]) -> None:
    if not companies:
        msg = '[mqtt.companies] must say whose users are whose: USER = "number of the company"'
        raise PlanError(msg)
    for user in companies:
        if user == "+" or "/" in user or not _is_level(user):
            msg = "a user in [mqtt.companies] must be one level of a topic"
            raise PlanError(msg)


_KEEPALIVE = 30
"""Seconds; a broker that is silent for twice as long is given up."""
_CONNECT_SECONDS = 5.0
_ANSWER_SECONDS = 10.0
_QUALITY = 1
"""Of service: at least once."""
_HOUR = 3_600


class _BrokerError(VoileError):
    """The broker cannot be reached or has gone; one may try again."""


class _BrokerConnection:
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
        """Connect and subscribe; raises ``_BrokerError``."""
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
        """Keep the connection alive until it is lost; raises ``_BrokerError`` then."""
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

    def _made(self) -> mqtt_client.Client:
        broker, newer = self._broker, self._is_newer
        client = mqtt_client.Client(
            mqtt_enums.CallbackAPIVersion.VERSION2,
            broker.client_id,
            clean_session=None if newer else False,
            protocol=mqtt_enums.MQTTProtocolVersion.MQTTv5
            if newer
            else mqtt_enums.MQTTProtocolVersion.MQTTv311,
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

    def _properties(self) -> mqtt_properties.Properties:
        asked: mqtt_properties.Properties = mqtt_properties.Properties(
            mqtt_packettypes.PacketTypes.CONNECT
        )  # type: ignore[no-untyped-call]
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
            options = mqtt_subscribeoptions.SubscribeOptions(
                _QUALITY, retainHandling=mqtt_subscribeoptions.SubscribeOptions.RETAIN_DO_NOT_SEND
            )
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

    def _error(self, why: str) -> _BrokerError:
        return _BrokerError(f"the MQTT broker {self._broker.name}: {why}")


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


_MOST_WAITING = 200
_MOST_BYTES = LIVE.size + 1024
"""Of a message with its topic."""
_WAITS = (1.0, 2.0, 5.0, 10.0, 30.0, 60.0)
"""Seconds between attempts to connect, and to publish where the store is away."""
_END_SECONDS = 2.0


async def subscribe(context: ServiceContext, notices: Notices, broker: Broker) -> None:
    """Take what devices publish, until this task is cancelled; brokers may come and go."""
    failed = 0
    meter = Meter(context.options.rates.device)
    while True:
        intake = _Intake(context, notices, broker, meter)
        try:
            await intake.run()
        except (_BrokerError, InputError) as error:
            notices.say(f"{error}; trying again")
        except Exception as error:
            notices.fault(error)
        failed = 0 if intake.was_open else failed
        await asyncio.sleep(_wait(failed))
        failed += 1


def _wait(failed: int) -> float:
    return _WAITS[min(failed, len(_WAITS) - 1)]


class _Intake:
    """What comes by one connection; devices side by side, the messages of each one by one."""

    def __init__(
        self, context: ServiceContext, notices: Notices, broker: Broker, meter: Meter
    ) -> None:
        self.was_open = False
        self._context = context
        self._notices = notices
        self._broker = broker
        self._meter = meter
        self._lines: dict[str, deque[MQTTMessage]] = {}
        self._working: set[asyncio.Task[None]] = set()
        self._waiting = 0
        self._ending = False
        self._connection = _BrokerConnection(
            broker, self._came, most_unacknowledged=_MOST_WAITING, most_bytes=_MOST_BYTES
        )

    async def run(self) -> None:
        """Until the connection is lost; raises ``_BrokerError``."""
        try:
            await self._connection.open()
            self.was_open = True
            self._notices.news(f"the MQTT broker {self._broker.name}: connected")
            await self._connection.lost()
        except asyncio.CancelledError:
            self._ending = True
            self._connection.pause()
            if self._working:
                await asyncio.wait(self._working, timeout=_END_SECONDS)
            raise
        finally:
            for task in self._working:
                task.cancel()
            self._connection.close()

    def _came(self, message: MQTTMessage) -> None:
        if message.retain:
            self._connection.acknowledge(message)
            return
        try:
            device, company = self._sender(message)
        except IngestError as refusal:
            self._refused(refusal)
            self._connection.acknowledge(message)
            return
        self._waiting += 1
        if self._waiting >= _MOST_WAITING:
            self._connection.pause()
        line = self._lines.get(device)
        if line is not None:
            line.append(message)
            return
        line = self._lines[device] = deque([message])
        task = asyncio.ensure_future(self._work_off(company, device, line))
        self._working.add(task)
        task.add_done_callback(self._working.discard)

    def _sender(self, message: MQTTMessage) -> tuple[str, str]:
        """The device, and its company; raises ``IngestError``."""
        try:
            topic = message.topic
        except UnicodeDecodeError:
            topic = ""
        device = device_of_topic(topic)
        company = self._broker.companies.get(device.partition("/")[0])
        if company is None:
            raise IngestError("token-refused", "the USER of its topic is not in [mqtt.companies]")
        return device, company

    async def _work_off(self, company: str, device: str, line: deque[MQTTMessage]) -> None:
        """Deal with a device's messages, oldest first, until none is left."""
        while line:
            await self._settle(company, device, line[0])
            self._connection.acknowledge(line.popleft())
            self._waiting -= 1
            if self._waiting == _MOST_WAITING // 2 and not self._ending:
                self._connection.resume()
        del self._lines[device]

    async def _settle(self, company: str, device: str, message: MQTTMessage) -> None:
        """Return when the report of a message is durable, or the message is refused."""
        if self._meter.wait(device.encode()) > 0:
            self._notices.say("messages of MQTT were refused: a device sends too many")
            return
        decode = partial(decode_owntracks_mqtt, message.topic, bytes(message.payload))
        failed = 0
        while True:
            try:
                answer = self._context.platform.receive_vouched(company, device, decode)
                self._context.told(await outcome_of(answer))
            except (BusyError, StoreError) as error:
                self._notices.say(str(error))
                await asyncio.sleep(_wait(failed))
                failed += 1
            except InputError as refusal:
                self._refused(refusal)
                return
            except Exception as error:
                self._notices.fault(error)
                return
            else:
                return

    def _refused(self, refusal: InputError) -> None:
        self._notices.say(f"a message of MQTT was refused: {refusal}")
