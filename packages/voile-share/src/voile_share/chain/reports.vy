# pragma version ==0.4.3
# pragma evm-version cancun
# pragma optimize gas
"""
@title Reports of trucks
@notice The owner certifies companies.  A certified company registers trucks, each by the account
        that sends for it and the digest of its card.  A truck publishes reports, one a slot, and
        its slots only move forward; or the company anchors roots of reports kept elsewhere.
        Whatever is not allowed reverts and says why in one word.
@dev    A report is a message of the sharing protocol: a header of three bytes (version 1, kind 6,
        suite), the truck (16), the slot (4) and more, which is not looked at.
"""

# A report with room for 1,000 parcels has 68,256.
MOST_BYTES: constant(uint256) = 70_000

HEADER: constant(bytes2) = 0x0106
REGISTERED: constant(uint256) = 1 << 64
LEAST: constant(uint256) = REGISTERED - 1


event OwnerOffered:
    owner: indexed(address)

event OwnerChanged:
    owner: indexed(address)

event Certified:
    company: indexed(address)

event Withdrawn:
    company: indexed(address)

event Registered:
    truck: indexed(bytes16)
    company: indexed(address)
    account: address
    card: bytes32

event Retired:
    truck: indexed(bytes16)

event Published:
    truck: indexed(bytes16)
    slot: indexed(uint32)
    message: Bytes[MOST_BYTES]

event Stored:
    truck: indexed(bytes16)
    slot: indexed(uint32)

event Anchored:
    company: indexed(address)
    number: indexed(uint64)
    slot: uint32
    root: bytes32


struct Registration:
    company: address
    account: address
    card: bytes32


owner: public(address)
offered: public(address)
certified: public(HashMap[address, bool])
registrations: public(HashMap[bytes16, Registration])
stored: public(HashMap[bytes16, HashMap[uint32, Bytes[MOST_BYTES]]])

# Of an account that sends for a truck, in one word, since every report reads and writes it: the
# truck (128 bits), whether it is registered (bit 64), the least slot that it may publish (64).
senders: HashMap[address, uint256]

# Of a company, in one word: how many roots it has anchored (from bit 32), and their last slot (32).
anchors: HashMap[address, uint256]


@deploy
def __init__():
    self.owner = msg.sender


# The owner

@external
def offer(owner: address):
    """
    @notice Offer the contract to another owner, who takes it by `accept`.
    """
    assert msg.sender == self.owner, "not-owner"
    self.offered = owner
    log OwnerOffered(owner=owner)


@external
def accept():
    """
    @notice Become the owner, where that was offered.
    """
    assert msg.sender == self.offered, "not-offered"
    self.owner = msg.sender
    self.offered = empty(address)
    log OwnerChanged(owner=msg.sender)


@external
def certify(company: address):
    """
    @notice Let a company register trucks.
    """
    assert msg.sender == self.owner, "not-owner"
    self.certified[company] = True
    log Certified(company=company)


@external
def withdraw(company: address):
    """
    @notice From now on neither the company nor its trucks may do anything.
    """
    assert msg.sender == self.owner, "not-owner"
    self.certified[company] = False
    log Withdrawn(company=company)


# Companies

@external
def register(truck: bytes16, account: address, card: bytes32):
    """
    @notice Let an account publish for a truck.  The company of a truck may register it again, with
            another account or card; the account before is out then, and slots go on from there.
    """
    assert self.certified[msg.sender], "not-certified"
    assert account != empty(address), "no-account"
    before: Registration = self.registrations[truck]
    assert before.company in [empty(address), msg.sender], "foreign-truck"
    own: uint256 = convert(truck, uint256) << 128
    state: uint256 = self.senders[account]
    assert state == 0 or (before.company == msg.sender and (state >> 128) << 128 == own), "foreign-account"
    least: uint256 = 0
    if before.account != empty(address):
        least = self.senders[before.account] & LEAST
        self.senders[before.account] = own | least
    self.senders[account] = own | REGISTERED | least
    self.registrations[truck] = Registration(company=msg.sender, account=account, card=card)
    log Registered(truck=truck, company=msg.sender, account=account, card=card)


@external
def retire(truck: bytes16):
    """
    @notice Take a truck's account from it.  Its number stays the company's.
    """
    before: Registration = self.registrations[truck]
    assert before.company == msg.sender, "foreign-truck"
    self.senders[before.account] = self.senders[before.account] & ~REGISTERED
    log Retired(truck=truck)


@external
def anchor(number: uint64, slot: uint32, root: bytes32):
    """
    @notice Anchor the root of some reports of slots up to `slot`.  Roots are numbered from 0.
    """
    assert self.certified[msg.sender], "not-certified"
    state: uint256 = self.anchors[msg.sender]
    assert convert(number, uint256) == state >> 32, "replayed"
    assert convert(slot, uint256) >= state & convert(max_value(uint32), uint256), "backward"
    self.anchors[msg.sender] = (convert(number, uint256) + 1) << 32 | convert(slot, uint256)
    log Anchored(company=msg.sender, number=number, slot=slot, root=root)


# Trucks

@internal
def _admit(head: bytes32, header: bytes2) -> (bytes16, uint32):
    """
    @dev `head` begins with the truck and the slot that the report names.
    """
    state: uint256 = self.senders[msg.sender]
    assert state & REGISTERED != 0, "unregistered"
    assert header == HEADER, "malformed"
    truck: bytes16 = convert(convert(state >> 128, uint128), bytes16)
    place: uint256 = convert(head, uint256)
    assert place >> 128 == state >> 128, "foreign-report"
    assert self.certified[self.registrations[truck].company], "not-certified"
    slot: uint256 = (place >> 96) & convert(max_value(uint32), uint256)
    assert slot + 1 != state & LEAST, "replayed"
    assert slot >= state & LEAST, "backward"
    self.senders[msg.sender] = (state & ~LEAST) | (slot + 1)
    return truck, convert(slot, uint32)


@external
def publish(message: Bytes[MOST_BYTES]):
    """
    @notice Publish a report as an event.
    """
    assert len(message) >= 35, "malformed"
    truck: bytes16 = empty(bytes16)
    slot: uint32 = 0
    truck, slot = self._admit(extract32(message, 3), convert(slice(message, 0, 2), bytes2))
    log Published(truck=truck, slot=slot, message=message)


@external
def store(message: Bytes[MOST_BYTES]):
    """
    @notice Publish a report into the contract's storage, as the paper does: dear.
    """
    assert len(message) >= 35, "malformed"
    truck: bytes16 = empty(bytes16)
    slot: uint32 = 0
    truck, slot = self._admit(extract32(message, 3), convert(slice(message, 0, 2), bytes2))
    self.stored[truck][slot] = message
    log Stored(truck=truck, slot=slot)


# Everybody

@external
@view
def least(truck: bytes16) -> uint256:
    """
    @notice The least slot that a truck may publish.
    """
    return self.senders[self.registrations[truck].account] & LEAST


@external
@view
def is_registered(truck: bytes16) -> bool:
    """
    @notice Whether the truck has an account, its company certified or not.
    """
    return self.senders[self.registrations[truck].account] & REGISTERED != 0


@external
@view
def is_open(truck: bytes16) -> bool:
    """
    @notice Whether the truck may publish.
    """
    registration: Registration = self.registrations[truck]
    return self.senders[registration.account] & REGISTERED != 0 and self.certified[registration.company]


@external
@view
def anchored(company: address) -> (uint64, uint32):
    """
    @notice How many roots a company has anchored, and the last one's slot.
    """
    state: uint256 = self.anchors[company]
    return convert(state >> 32, uint64), convert(state & convert(max_value(uint32), uint256), uint32)
