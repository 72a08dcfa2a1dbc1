"""The OpenAPI document, generated from the endpoints."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from lurcher.surfaces.http.endpoints import Endpoint
from lurcher.surfaces.parameters import MAX_VALUES, Parameter, json_schema, sentence
from lurcher.version import VERSION

_ERROR = {
    "type": "object",
    "required": ["error"],
    "properties": {
        "error": {
            "type": "object",
            "required": ["code", "message", "hint"],
            "properties": {name: {"type": "string"} for name in ("code", "message", "hint")},
        }
    },
}
_FAILURES = {
    "400": "The request is wrong; the hint says what is allowed.",
    "401": "The token is missing or wrong.",
    "403": "The request comes from another site, or for another host.",
    "404": "No such file in the index.",
    "413": "The request is too large.",
    "429": "Too many wrong tokens.",
    "500": "The server failed.",
    "501": "An extra is not installed, or there is no model.",
    "503": "Too many questions at once, no index yet, or a folder that is gone; see Retry-After.",
}


def document(endpoints: Sequence[Endpoint], *, token: bool = False) -> dict[str, Any]:
    found: dict[str, Any] = {
        "openapi": "3.1.0",
        "info": {
            "title": "lurcher", "version": VERSION,
            "description": "Finds the code, the past change and the note that answer a question; the JSON of `--json`.",
        },
        "paths": {endpoint.path: {"get": _operation(endpoint)} for endpoint in endpoints},
        "components": {"schemas": {"Error": _ERROR}},
    }  # fmt: skip
    if token:
        found["components"]["securitySchemes"] = {"token": {"type": "http", "scheme": "bearer"}}
        found["security"] = [{"token": []}]
    return found


def _operation(endpoint: Endpoint) -> dict[str, Any]:
    return {
        "operationId": endpoint.name,
        "summary": endpoint.doc,
        "parameters": [_parameter(parameter) for parameter in endpoint.parameters],
        "responses": {
            "200": {"description": "The answer.", "content": {"application/json": {"schema": {"type": "object"}}}},
            **{status: _failure(text) for status, text in _FAILURES.items()},
        },
    }


def _parameter(parameter: Parameter) -> dict[str, Any]:
    return {
        "name": parameter.name, "in": "query", "description": sentence(parameter.help), "required": parameter.required,
        "schema": _schema(parameter),
    }  # fmt: skip


def _schema(parameter: Parameter) -> dict[str, Any]:
    schema = json_schema(parameter)
    value = schema["items"] if parameter.many else schema
    if parameter.kind == "text" and "enum" not in value:
        value["maxLength"] = parameter.longest
        if parameter.required:
            value["minLength"] = 1
    bounds = {"minimum": parameter.low, "maximum": parameter.high}
    value |= {name: bound for name, bound in bounds.items() if bound is not None}
    return {**schema, "maxItems": MAX_VALUES} if parameter.many else schema


def _failure(text: str) -> dict[str, Any]:
    return {"description": text, "content": {"application/json": {"schema": {"$ref": "#/components/schemas/Error"}}}}
