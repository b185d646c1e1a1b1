// What the native API's requests and answers look like, for the OpenAPI document. Kept by hand
// beside the code that reads and writes them (create_request.cc, exec_request.cc, describe.cc, …);
// tests/integration/server_http_test.py checks the references.
#pragma once

#include <string_view>

namespace paddock::api {

inline constexpr std::string_view kSchemas = R"json({
"Error": {"type": "object", "required": ["code", "message"], "properties": {
  "code": {"type": "integer", "description": "the HTTP status"}, "message": {"type": "string"},
  "error": {"enum": ["invalid", "denied", "unsupported", "not_found", "conflict", "exhausted",
    "io", "internal"]}, "hint": {"type": "string"}}},
"Health": {"type": "object", "properties": {"status": {"enum": ["ok", "degraded"]}, "why": {
    "type": "string", "description": "of degraded"}, "version": {"type": "string"}, "uptime_ms": {
    "type": "integer"}}},
"Version": {"type": "object", "properties": {"name": {"type": "string"}, "version": {
    "type": "string"}, "api": {"type": "string"}}},
"Me": {"type": "object", "properties": {"tenant": {"type": "string"}, "scopes": {"type": "array",
    "items": {"$ref": "#/components/schemas/Scope"}}, "domain": {"type": "string"}}},
"Scope": {"enum": ["read", "sandboxes", "templates", "admin"]},
"Texts": {"type": "object", "additionalProperties": {"type": "string"}},
"VolumeMount": {"type": "object", "required": ["name", "path"], "properties": {"name": {
    "type": "string"}, "path": {"type": "string"}, "read_only": {"type": "boolean",
    "default": false}}},
"Policy": {
  "description": "a preset's name, the keys of a policy file, or a list of these to intersect",
  "oneOf": [
  {"type": "string"}, {"type": "object"}, {"type": "array", "items": {"oneOf": [{"type": "string"},
    {"type": "object"}]}}]},
"Limits": {"type": "object", "description": "as in a policy file: memory, cpu, pids, disk, …",
    "additionalProperties": {"type": ["string", "number"]}},
"CreateSandbox": {"type": "object", "additionalProperties": false, "properties": {
  "template": {"type": "string", "default": "base",
    "description": "an id, a name, name:tag, or a snapshot's id"},
  "name": {"type": "string", "description": "unique within the tenant; may stand for the id"},
  "policy": {"$ref": "#/components/schemas/Policy"}, "limits": {
    "$ref": "#/components/schemas/Limits"},
  "allow_net": {"type": "array", "items": {"type": "string"},
    "description": "hosts that may be reached"},
  "env": {"$ref": "#/components/schemas/Texts"}, "metadata": {"$ref": "#/components/schemas/Texts"},
  "secrets": {"description": "variables as env, never shown, and taken out of all that comes back",
    "allOf": [{"$ref": "#/components/schemas/Texts"}]},
  "volumes": {"type": "array", "items": {"$ref": "#/components/schemas/VolumeMount"}},
  "timeout_ms": {"type": "integer", "minimum": 0, "default": 300000}, "idle_timeout_ms": {
    "type": "integer", "minimum": 0, "default": 0},
  "on_timeout": {"enum": ["kill", "pause"], "default": "kill"}, "pause_keeps_memory": {
    "type": "boolean", "default": true},
  "auto_resume": {"type": "boolean", "default": false}, "public_traffic": {"type": "boolean",
    "default": true},
  "mask_request_host": {"type": "string",
    "description": "Host of previewed requests; ${PORT} stands for the port"}}},
"Sandbox": {"type": "object", "properties": {
  "id": {"type": "string"}, "name": {"type": "string"}, "tenant": {"type": "string"}, "template": {
    "type": "string"}, "template_id": {"type": "string"},
  "state": {"enum": ["starting", "running", "pausing", "paused", "resuming", "ending", "ended"]},
    "has_memory": {"type": "boolean"},
  "created_ms": {"type": "integer"}, "started_ms": {"type": "integer"}, "ends_ms": {
    "type": "integer", "description": "0: never"},
  "timeout_ms": {"type": "integer"}, "idle_timeout_ms": {"type": "integer"}, "on_timeout": {
    "enum": ["kill", "pause"]}, "auto_resume": {"type": "boolean"},
  "metadata": {"$ref": "#/components/schemas/Texts"}, "env": {"$ref": "#/components/schemas/Texts"},
  "secrets": {"type": "array", "items": {"type": "string"}, "description": "their names"},
  "volumes": {"type": "array", "items": {"$ref": "#/components/schemas/VolumeMount"}},
  "memory_bytes": {"type": "integer"}, "cpu_millicores": {"type": "integer"}, "disk_bytes": {
    "type": "integer"},
  "public_traffic": {"type": "boolean"}, "access_token": {"type": "string"}, "traffic_token": {
    "type": "string"},
  "notes": {"type": "array", "items": {"type": "string"}}, "ended_because": {"type": "string"},
    "usage": {"$ref": "#/components/schemas/Metric"},
  "enforced": {"type": "object", "description": "of one sandbox only"}, "policy": {
    "type": "object", "description": "of one sandbox only"}}},
"Sandboxes": {"type": "object", "properties": {"sandboxes": {"type": "array", "items": {
    "$ref": "#/components/schemas/Sandbox"}}, "next": {"type": "string",
    "description": "token of the next page; empty: none"}}},
"Enforced": {"type": "object", "additionalProperties": true},
"Pause": {"type": "object", "properties": {"memory": {"type": "boolean", "default": true}}},
"Resume": {"type": "object", "properties": {"timeout_ms": {"type": "integer"}, "reboot": {
    "type": "boolean", "default": false}}},
"Timeout": {"type": "object", "required": ["timeout_ms"], "properties": {"timeout_ms": {
    "type": "integer", "minimum": 0}}},
"Network": {"type": "object", "description": "[network] of a policy file", "properties": {
    "allow": {"type": "array", "items": {"type": "string"}}, "deny": {"type": "array", "items": {
    "type": "string"}}}},
"MakeSnapshot": {"type": "object", "properties": {"name": {"type": "string",
    "description": "name or name:tag"}}},
"Snapshot": {"type": "object", "properties": {"id": {"type": "string"}, "sandbox": {
    "type": "string"}, "name": {"type": "string"}, "tag": {"type": "string"}, "created_ms": {
    "type": "integer"}, "bytes": {"type": "integer"}}},
"Snapshots": {"type": "object", "properties": {"snapshots": {"type": "array", "items": {
    "$ref": "#/components/schemas/Snapshot"}}}},
"Fork": {"type": "object", "properties": {"count": {"type": "integer", "minimum": 1,
    "maximum": 100, "default": 1}, "timeout_ms": {"type": "integer"}}},
"Forks": {"type": "object", "properties": {"sandboxes": {"type": "array", "items": {
    "type": "object", "properties": {"sandbox": {"$ref": "#/components/schemas/Sandbox"},
    "error": {"$ref": "#/components/schemas/Error"}}}}}},
"Metric": {"type": "object", "properties": {"time_ms": {"type": "integer"}, "cpu_percent": {
    "type": "number"}, "memory": {"type": "integer"}, "memory_cache": {"type": "integer"},
    "disk": {"type": "integer"}, "pids": {"type": "integer"}}},
"Metrics": {"type": "object", "properties": {"metrics": {"type": "array", "items": {
    "$ref": "#/components/schemas/Metric"}}}},
"Record": {"type": "object",
    "description": "an event with its number and hashes; `damaged` says why one is not whole",
    "properties": {
  "seq": {"type": "integer"}, "time": {"type": "string"}, "kind": {"type": "string"}, "trace": {
    "type": "string"}, "span": {"type": "string"}, "parent": {"type": "string"},
  "sandbox": {"type": "string"}, "tenant": {"type": "string"}, "agent": {"type": "string"},
    "verdict": {"enum": ["allow", "deny", "ask"]}, "duration_us": {"type": "integer"},
  "data": {"type": "object"}, "prev": {"type": "string"}, "hash": {"type": "string"}}},
"Records": {"type": "object", "properties": {"records": {"type": "array", "items": {
    "$ref": "#/components/schemas/Record"}}, "next": {"type": ["integer", "null"],
    "description": "for after= (or before=, newest first); null: no more"}}},
"Verified": {"type": "object", "additionalProperties": true},
"PublicKey": {"type": "object", "properties": {"public_key": {"type": "string",
    "description": "PEM"}}},
"Event": {"type": "object", "description": "docs/formats/events.md", "required": ["time", "kind",
    "data"], "properties": {
  "time": {"type": "string", "format": "date-time"}, "kind": {"type": "string"}, "trace": {
    "type": "string"}, "span": {"type": "string"}, "parent": {"type": "string"},
  "sandbox": {"type": "string"}, "tenant": {"type": "string"}, "agent": {"type": "string"},
    "verdict": {"enum": ["allow", "deny", "ask"]},
  "duration_us": {"type": "integer"}, "data": {"type": "object", "additionalProperties": true}}},
"LogLine": {"type": "object", "properties": {"kind": {"type": "string"}},
    "additionalProperties": true},
"Exec": {"type": "object", "additionalProperties": false, "properties": {
  "argv": {"type": "array", "items": {"type": "string"}}, "command": {"type": "string",
    "description": "for bash -l -c; this or argv"},
  "env": {"$ref": "#/components/schemas/Texts"}, "cwd": {"type": "string"}, "user": {
    "type": "string"}, "tag": {"type": "string"},
  "stdin": {"type": ["string", "boolean"], "description": "the text itself; over a WebSocket true"},
  "timeout_ms": {"type": "integer", "minimum": 0}, "background": {"type": "boolean",
    "default": false},
  "terminal": {"type": "object", "description": "over a WebSocket only", "properties": {"rows": {
    "type": "integer"}, "columns": {"type": "integer"}}}}},
"Outcome": {"type": "object", "required": ["kind"], "properties": {"kind": {"enum": ["exited",
    "signaled", "limit"]}, "code": {"type": "integer"}, "signal": {"type": "string"}, "limit": {
    "type": "string"}, "value": {"type": "integer"}, "peak": {"type": "integer"}}},
"ExecEvent": {"type": "object", "required": ["type"], "properties": {"type": {"enum": ["start",
    "stdout", "stderr", "end", "error"]}, "pid": {"type": "integer"},
  "data": {"type": "string"}, "base64": {"type": "string",
    "description": "instead of data, where the bytes are not UTF-8"},
  "outcome": {"$ref": "#/components/schemas/Outcome"}, "error": {"type": "object"}, "redactions": {
    "type": "integer"}, "redacted": {"type": "object", "description": "how many by kind",
    "additionalProperties": {"type": "integer"}}}},
"ExecResult": {"type": "object", "properties": {"id": {"type": "string"}, "pid": {
    "type": "integer"}, "outcome": {"$ref": "#/components/schemas/Outcome"},
  "stdout": {"type": "string"}, "stderr": {"type": "string"}, "stdout_truncated": {
    "type": "boolean"}, "stderr_truncated": {"type": "boolean"},
  "stdout_base64": {"type": "string"}, "stderr_base64": {"type": "string"}, "redactions": {
    "type": "integer"}, "redacted": {"type": "object", "description": "how many by kind",
    "additionalProperties": {"type": "integer"}}}},
"Processes": {"type": "object", "properties": {"processes": {"type": "array", "items": {
    "type": "object", "properties": {"pid": {"type": "integer"}, "argv": {"type": "array",
    "items": {"type": "string"}}, "env": {"$ref": "#/components/schemas/Texts"}, "cwd": {
    "type": "string"}, "tag": {"type": "string"}, "user": {"type": "string"}, "terminal": {
    "type": "boolean"}}}}}},
"Signal": {"type": "object", "properties": {"signal": {"type": "string", "default": "SIGTERM"}}},
"Entry": {"type": "object", "properties": {"name": {"type": "string"}, "path": {"type": "string"},
    "type": {"enum": ["file", "directory", "symlink", "other"]}, "size": {"type": "integer"},
    "mode": {"type": "integer"},
  "permissions": {"type": "string"}, "owner": {"type": "string"}, "group": {"type": "string"},
    "uid": {"type": "integer"}, "gid": {"type": "integer"}, "modified_ns": {"type": "integer"},
    "target": {"type": "string"}, "metadata": {"$ref": "#/components/schemas/Texts"}}},
"OneEntry": {"type": "object", "properties": {"entry": {"$ref": "#/components/schemas/Entry"}}},
"Entries": {"type": "object", "properties": {"entries": {"type": "array", "items": {
    "$ref": "#/components/schemas/Entry"}}}},
"Unpacked": {"type": "object", "properties": {"files": {"type": "integer"}}},
"MakeDirectory": {"type": "object", "required": ["path"], "properties": {"path": {
    "type": "string"}, "user": {"type": "string"}}},
"Move": {"type": "object", "required": ["source", "destination"], "properties": {"source": {
    "type": "string"}, "destination": {"type": "string"}, "user": {"type": "string"}}},
"Change": {"type": "object", "description": "the first is {\"type\":\"started\"}", "properties": {
    "type": {"enum": ["started", "create", "write", "remove", "rename", "chmod", "overflow"]},
    "name": {"type": "string"}, "entry": {"$ref": "#/components/schemas/Entry"}}},
"CreateVolume": {"type": "object", "required": ["name"], "properties": {"name": {"type": "string"},
    "quota_bytes": {"type": "integer"}}},
"Volume": {"type": "object", "properties": {"id": {"type": "string"}, "name": {"type": "string"},
    "quota_bytes": {"type": "integer"}, "used_bytes": {"type": "integer"}, "created_ms": {
    "type": "integer"}}},
"Volumes": {"type": "object", "properties": {"volumes": {"type": "array", "items": {
    "$ref": "#/components/schemas/Volume"}}}},
"CreateKey": {"type": "object", "properties": {"tenant": {"type": "string"}, "name": {
    "type": "string"}, "scopes": {"type": "array",
    "items": {"$ref": "#/components/schemas/Scope"}}, "expires_ms": {"type": "integer"}}},
"Key": {"type": "object", "properties": {"id": {"type": "string"}, "tenant": {"type": "string"},
    "name": {"type": "string"}, "scopes": {"type": "array", "items": {
    "$ref": "#/components/schemas/Scope"}}, "last_four": {"type": "string"}, "created_ms": {
    "type": "integer"}, "expires_ms": {"type": "integer"}, "key": {"type": "string",
    "description": "once, when it is made"}}},
"Keys": {"type": "object", "properties": {"keys": {"type": "array", "items": {
    "$ref": "#/components/schemas/Key"}}}},
"Quota": {"type": "object", "description": "0: no limit", "properties": {"sandboxes": {
    "type": "integer"}, "memory_bytes": {"type": "integer"}, "cpu_millicores": {"type": "integer"},
    "disk_bytes": {"type": "integer"}, "starts_per_minute": {"type": "integer"},
    "longest_timeout_ms": {"type": "integer"}}},
"SetTenant": {"type": "object", "properties": {"policy": {"type": "string"}, "quota": {
    "$ref": "#/components/schemas/Quota"}}},
"Tenant": {"type": "object", "properties": {"name": {"type": "string"}, "policy": {
    "type": "string"}, "quota": {"$ref": "#/components/schemas/Quota"}}},
"Tenants": {"type": "object", "properties": {"tenants": {"type": "array", "items": {
    "$ref": "#/components/schemas/Tenant"}}}},
"Code": {"type": "object", "required": ["code"], "properties": {"code": {"type": "string"},
    "language": {"type": "string"}, "context": {"type": "string"}, "env": {
    "$ref": "#/components/schemas/Texts"}, "stream": {"type": "boolean", "default": true}}},
"CodeEvent": {"type": "object", "required": ["type"], "properties": {"type": {"enum": [
    "number_of_executions", "stdout", "stderr", "result", "error", "keepalive",
    "end_of_execution"]}}, "additionalProperties": true},
"MakeContext": {"type": "object", "properties": {"language": {"type": "string"}, "cwd": {
    "type": "string"}}},
"Context": {"type": "object", "properties": {"id": {"type": "string"}, "language": {
    "type": "string"}, "cwd": {"type": "string"}}},
"Contexts": {"type": "object", "properties": {"contexts": {"type": "array", "items": {
    "$ref": "#/components/schemas/Context"}}}},
"BuildTemplate": {"type": "object", "required": ["name"], "properties": {"name": {
    "type": "string"}, "tags": {"type": "array", "items": {"type": "string"}}, "from_template": {
    "type": "string"}, "from_image": {"type": "string"},
  "steps": {"type": "array", "items": {"type": "object"}}, "start_command": {"type": "string"},
    "ready_command": {"type": "string"}, "force": {"type": "boolean"},
  "cpu_millicores": {"type": "integer"}, "memory_bytes": {"type": "integer"}, "policy": {
    "$ref": "#/components/schemas/Policy"}, "limits": {"$ref": "#/components/schemas/Limits"},
    "allow_net": {"type": "array", "items": {"type": "string"}}}},
"BuildEvent": {"type": "object", "required": ["type"], "properties": {"type": {"enum": ["log",
    "end", "error"]}, "message": {"type": "string"}, "step": {"type": ["integer", "string"]},
    "template": {"$ref": "#/components/schemas/Template"}, "error": {"type": "object"}}},
"Template": {"type": "object", "properties": {"id": {"type": "string"}, "name": {"type": "string"},
    "tags": {"type": "array", "items": {"type": "string"}}, "kind": {"enum": ["template",
    "snapshot"]}, "created_ms": {"type": "integer"}, "layers": {"type": "integer"}, "parent": {
    "type": "string"}}, "additionalProperties": true},
"Templates": {"type": "object", "properties": {"templates": {"type": "array", "items": {
    "$ref": "#/components/schemas/Template"}}}},
"FilesPresent": {"type": "object", "additionalProperties": true},
"Tool": {"type": "object", "required": ["name", "inputSchema", "provider"], "properties": {
    "name": {"type": "string"}, "title": {"type": "string"}, "description": {"type": "string"},
  "inputSchema": {"type": "object"}, "outputSchema": {"type": "object"}, "annotations": {
    "type": "object"},
  "provider": {"type": "string",
    "description": "paddock, command, server NAME, or nobody: calls are then only judged"}},
    "additionalProperties": true},
"Tools": {"type": "object", "properties": {"tools": {"type": "array", "items": {
    "$ref": "#/components/schemas/Tool"}},
    "servers": {"description": "the MCP servers behind the gateway, for the scope admin"}}},
"CallTool": {"type": "object", "additionalProperties": false, "properties": {"arguments": {
    "type": "object", "default": {}}, "dry_run": {"type": "boolean", "default": false,
    "description": "judge only; the answer is then always 200"}}},
"Decision": {"type": "object", "required": ["verdict"], "properties": {"verdict": {"enum": [
    "allow", "deny", "ask"]}, "rule": {"type": "string"}, "why": {"type": "string"}, "hint": {
    "type": "string"}, "retry_after_ms": {"type": "integer"}}},
"ToolCalled": {"type": "object",
    "description": "403, 404 and 429 have the same members besides those of an error",
    "required": ["decision"], "properties": {"decision": {"$ref": "#/components/schemas/Decision"},
  "id": {"type": "string", "description": "of the call, in the records"}, "dry_run": {
    "type": "boolean"}, "result": {"type": "object",
    "description": "MCP's CallToolResult; isError: the tool failed"}}},
"Approval": {"type": "object", "required": ["id", "state", "tool"], "properties": {"id": {
    "type": "string"}, "state": {"enum": ["waiting", "approved", "denied", "expired"]}, "tool": {
    "type": "string"}, "agent": {"type": "string"},
  "arguments": {"type": "object", "description": "redacted"}, "why": {"type": "string"}},
    "additionalProperties": true},
"Approvals": {"type": "object", "properties": {"approvals": {"type": "array", "items": {
    "$ref": "#/components/schemas/Approval"}}}},
"DecideApproval": {"type": "object", "additionalProperties": false, "required": ["approve"],
    "properties": {"approve": {"type": "boolean"}, "why": {"type": "string"}}}
})json";

}  // namespace paddock::api
