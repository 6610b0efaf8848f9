"""The protocol: lists the tools and resources, hands each call to the process that holds the study."""

import base64
import functools
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import anyio
import anyio.to_thread
import mcp_types as types
from mcp.server.lowlevel.server import Server
from mcp.server.stdio import stdio_server
from mcp.shared.exceptions import MCPError

from scalelens.assistant.load import USUAL_LIMIT_S, description_of, schema_of, tools_for
from scalelens.assistant.resources import RESOURCES, TEMPLATES, tool_for
from scalelens.assistant.skill import INSTRUCTIONS
from scalelens.assistant.worker import Settings, Told, Worker, refusal
from scalelens.version import __version__

_NOT_FOUND = -32002


def serve(settings: Settings, worker: Worker) -> None:
    """Serves one client over standard input and output, until it closes them."""
    anyio.run(_serve, _server_of(settings, worker))


async def _serve(server: "Server[Any]") -> None:
    async with stdio_server() as (incoming, outgoing):
        await server.run(incoming, outgoing, server.create_initialization_options())


def _server_of(settings: Settings, worker: Worker) -> "Server[Any]":
    """The server of a worker; what it knows of the tools are their texts."""
    tools = tools_for(map(Path, settings.query_folders))

    async def list_tools(context: Any, parameters: Any) -> types.ListToolsResult:
        return types.ListToolsResult(tools=[_listed(name, tool) for name, tool in tools.items()])

    async def call_tool(context: Any, parameters: types.CallToolRequestParams) -> types.CallToolResult:
        limit_s = getattr(tools.get(parameters.name), "LIMIT_S", USUAL_LIMIT_S)
        told = await _called(worker, parameters.name, parameters.arguments or {}, limit_s)
        pictures = (
            types.ImageContent(type="image", data=base64.b64encode(picture).decode(), mime_type="image/png")
            for picture in told.pictures
        )
        content = [types.TextContent(type="text", text=told.text), *pictures]
        return types.CallToolResult(content=content, is_error=told.is_error)

    async def list_resources(context: Any, parameters: Any) -> types.ListResourcesResult:
        listed = [
            types.Resource(uri=uri, name=name, description=text, mime_type="application/json")
            for uri, name, text in RESOURCES
        ]
        return types.ListResourcesResult(resources=listed)

    async def list_templates(context: Any, parameters: Any) -> types.ListResourceTemplatesResult:
        listed = [
            types.ResourceTemplate(uri_template=uri, name=name, description=text, mime_type="application/json")
            for uri, name, text in TEMPLATES
        ]
        return types.ListResourceTemplatesResult(resource_templates=listed)

    async def read_resource(context: Any, parameters: types.ReadResourceRequestParams) -> types.ReadResourceResult:
        uri = str(parameters.uri)
        call = tool_for(uri)
        told = await _called(worker, *call, USUAL_LIMIT_S) if call else refusal("there is no such resource")
        if told.is_error:
            raise MCPError(_NOT_FOUND, told.text)
        content = types.TextResourceContents(uri=uri, mime_type="application/json", text=told.text)
        return types.ReadResourceResult(contents=[content])

    return Server(
        "scalelens", version=__version__, title="ScaleLens", instructions=INSTRUCTIONS, on_list_tools=list_tools,
        on_call_tool=call_tool, on_list_resources=list_resources, on_list_resource_templates=list_templates,
        on_read_resource=read_resource,
    )  # fmt: skip


async def _called(worker: Worker, name: str, arguments: Mapping[str, Any], limit_s: float) -> Told:
    try:
        return await anyio.to_thread.run_sync(functools.partial(worker.call, name, arguments, limit_s))
    except (TypeError, ValueError, RecursionError, OverflowError) as error:
        return refusal(f"the call cannot be read ({type(error).__name__})", "send plain JSON in UTF-8")


def _listed(name: str, tool: Any) -> types.Tool:
    changes = bool(getattr(tool, "CHANGES", False))
    return types.Tool(
        name=name,
        description=description_of(tool),
        input_schema=schema_of(tool),
        annotations=types.ToolAnnotations(
            read_only_hint=not changes, destructive_hint=False, idempotent_hint=True, open_world_hint=False
        ),
    )
