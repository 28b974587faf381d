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
"""

from __future__ import annotations

import asyncio
from collections import deque
from functools import partial
from typing import TYPE_CHECKING

from voile_base.errors import InputError
from voile_share.ingest import LIVE, IngestError, decode_owntracks_mqtt, device_of_topic
from voile_share.platform import BusyError
from voile_share.service.awaiting import outcome_of
from voile_share.service.broker import Broker
from voile_share.service.context import ServiceContext
from voile_share.service.limits import Meter
from voile_share.service.mqtt_connection import BrokerConnection, BrokerError
from voile_share.service.notices import Notices
from voile_share.store import StoreError

if TYPE_CHECKING:
    from paho.mqtt.client import MQTTMessage

__all__ = ["subscribe"]

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
        except (BrokerError, InputError) as error:
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
        self._connection = BrokerConnection(
            broker, self._came, most_unacknowledged=_MOST_WAITING, most_bytes=_MOST_BYTES
        )

    async def run(self) -> None:
        """Until the connection is lost; raises ``BrokerError``."""
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
