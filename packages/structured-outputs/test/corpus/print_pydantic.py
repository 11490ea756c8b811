"""Prints JSON schemas of ordinary types as Pydantic 2 writes them.

`pip install "pydantic[email]"`, then `python print_pydantic.py > pydantic.json`.
"""

import datetime
import decimal
import enum
import ipaddress
import json
import pathlib
import uuid
from typing import Annotated, Any, Generic, Literal, Optional, TypeVar, Union

from typing_extensions import NamedTuple, TypedDict

from pydantic import (
    AnyUrl,
    Base64Bytes,
    BaseModel,
    ConfigDict,
    EmailStr,
    Field,
    HttpUrl,
    Json,
    SecretStr,
    StringConstraints,
    TypeAdapter,
)


class Color(enum.Enum):
    red = "red"
    blue = "blue"


class Level(enum.IntEnum):
    low = 1
    high = 2


class Address(BaseModel):
    """Where somebody lives."""

    street: str = Field(min_length=1, max_length=50, description="with the number")
    zip: str = Field(pattern=r"^\d{5}$", examples=["12345"])


class Person(BaseModel):
    name: str
    age: int = Field(ge=0, le=150)
    address: Optional[Address] = None
    work: Address


class Tree(BaseModel):
    value: int
    children: list["Tree"] = []


class Cat(BaseModel):
    kind: Literal["cat"]
    lives: int = 9


class Dog(BaseModel):
    kind: Literal["dog"]
    good: bool


class Strict(BaseModel):
    model_config = ConfigDict(extra="forbid")
    a: int


class Open(BaseModel):
    model_config = ConfigDict(extra="allow")
    a: int


class Aliased(BaseModel):
    user_id: int = Field(alias="userId")
    old: str = Field(default="", deprecated=True)


class Point(NamedTuple):
    x: float
    y: float


class Movie(TypedDict, total=False):
    title: str
    year: int


T = TypeVar("T")


class Page(BaseModel, Generic[T]):
    items: list[T] = Field(max_length=3)
    next: Optional[str] = None


class Described(BaseModel):
    color: Annotated[Color, Field(description="siblings of a reference")] = Color.red
    size: int = Field(json_schema_extra={"format": "int64", "x-order": 3, "unit": "cm"})


types: dict[str, Any] = {
    "text": Annotated[str, Field(min_length=2, max_length=5)],
    "pattern": Annotated[str, StringConstraints(pattern=r"^[a-z]+$", max_length=10)],
    "slug": Annotated[str, StringConstraints(pattern=r"^[a-z0-9]+(-[a-z0-9]+)*$", min_length=3, max_length=40)],
    "int": int,
    "int64": Annotated[int, Field(ge=-(2**63), le=2**63 - 1)],
    "uint64": Annotated[int, Field(ge=0, le=2**64 - 1)],
    "safe_int": Annotated[int, Field(ge=-(2**53) + 1, le=2**53 - 1)],
    "positive": Annotated[int, Field(gt=0)],
    "multiple": Annotated[int, Field(multiple_of=15)],
    "multiple_in_range": Annotated[int, Field(multiple_of=7, ge=-100, lt=5000)],
    "thousands": Annotated[int, Field(multiple_of=1000, ge=0)],
    "float": float,
    "latitude": Annotated[float, Field(ge=-90, le=90)],
    "fine_bounds": Annotated[float, Field(gt=-3.141592653589793, lt=3.141592653589793)],
    "decimal": decimal.Decimal,
    "money": Annotated[decimal.Decimal, Field(max_digits=8, decimal_places=2, ge=0)],
    "bool": bool,
    "enum": Color,
    "int_enum": Level,
    "literal": Literal["a", 1, None],
    "optional": Optional[int],
    "union": Union[int, str, list[int]],
    "list": Annotated[list[int], Field(min_length=1, max_length=4)],
    "tuple": tuple[int, str],
    "variadic": tuple[bool, ...],
    "named_tuple": Point,
    "set_of_enum": set[Color],
    "set_of_text": set[str],
    "single_set": Annotated[set[str], Field(max_length=1)],
    "dict": dict[str, int],
    "dict_not_empty": Annotated[dict[str, int], Field(min_length=1, max_length=3)],
    "dict_of_two": Annotated[dict[str, int], Field(min_length=2)],
    "dict_of_enum": dict[Color, int],
    "dict_of_pattern": dict[Annotated[str, StringConstraints(pattern=r"^k_[a-z]+$")], int],
    "dict_of_length": dict[Annotated[str, StringConstraints(min_length=1, max_length=4)], bool],
    "dict_of_int": dict[int, str],
    "typed_dict": Movie,
    "nested": Person,
    "recursive": Tree,
    "discriminated": Annotated[Union[Cat, Dog], Field(discriminator="kind")],
    "plain_union": Union[Cat, Dog],
    "forbid": Strict,
    "allow": Open,
    "alias": Aliased,
    "generic": Page[Address],
    "described": Described,
    "datetime": datetime.datetime,
    "date": datetime.date,
    "time": datetime.time,
    "timedelta": datetime.timedelta,
    "uuid": uuid.UUID,
    "email": EmailStr,
    "any_url": AnyUrl,
    "http_url": HttpUrl,
    "ipv4": ipaddress.IPv4Address,
    "ipv6": ipaddress.IPv6Address,
    "network": ipaddress.IPv4Network,
    "any_ip": Union[ipaddress.IPv4Address, ipaddress.IPv6Address],
    "bytes": bytes,
    "base64": Base64Bytes,
    "path": pathlib.Path,
    "secret": SecretStr,
    "json": Json[list[int]],
    "any": Any,
}

print(json.dumps({name: TypeAdapter(each).json_schema() for name, each in types.items()}, indent=1))
