"""The command line: one program under three names. Importing this imports no solver; each command loads what it needs when it runs.

Exit codes: 0 all placed, 1 some pod unplaced (or a difference, for compare and replay), 2 wrong usage or input, 3 environment or a bug,
130 interrupted, 141 nobody reads the output any more.
"""

from __future__ import annotations

import importlib
import os
import shlex
import sys
from collections.abc import Sequence
from typing import Any

import click

from packer.commands import COMMANDS
from packer.config import nearest
from packer.errors import BayplanError

ENVIRONMENT, INTERRUPTED, BROKEN_PIPE = 3, 130, 141
CONTEXT = {"help_option_names": ["-h", "--help"], "max_content_width": 110}


class LazyGroup(click.Group):
    """A group whose commands are imported by name from the table when they are called."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        entry = COMMANDS.get(cmd_name)
        if entry is None:
            return None
        module, _, attribute = entry.target.partition(":")
        command: click.Command = getattr(importlib.import_module(module), attribute)
        return command

    def resolve_command(self, ctx: click.Context, args: list[str]) -> tuple[str | None, click.Command | None, list[str]]:
        if args and args[0] not in COMMANDS and not args[0].startswith("-"):
            raise click.UsageError(f"no command {args[0]!r}{nearest(args[0], COMMANDS)}; see `{program()} --help`")
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, entry.help) for name, entry in COMMANDS.items()])


def program() -> str:
    """What the user typed: packer, bayplan, `kubectl bayplan` or `python -m packer`."""
    name = os.path.basename(sys.argv[0]) if sys.argv and sys.argv[0] else "packer"
    return {"kubectl-bayplan": "kubectl bayplan", "__main__.py": "python -m packer"}.get(name, name)


def _version(ctx: click.Context, _param: click.Parameter, wanted: bool) -> None:
    if wanted and not ctx.resilient_parsing:
        from importlib.metadata import version

        click.echo(f"bayplan {version('bayplan')}")
        ctx.exit()


@click.group(cls=LazyGroup, context_settings=CONTEXT)
@click.option("--version", is_flag=True, expose_value=False, is_eager=True, callback=_version, help="Show the version and exit.")
@click.option("--debug", is_flag=True, help="Show the traceback of an error.")
@click.pass_context
def packer(ctx: click.Context, debug: bool) -> None:
    """Plan which machines to rent for the pods that wait, at the least cost, with a proof of how close to the least it is.

    \b
    kubectl get pods,nodes -A -o json | packer solve -f -
    packer solve -f cluster.json -o html > report.html
    packer explain NAMESPACE/POD -f cluster.json
    packer compare -f cluster.json          what a repack would save
    """
    ctx.obj = {"debug": debug}


def main(argv: Sequence[str] | None = None) -> int:
    """Run the program and return its exit code. Every foreseen error is one line that says the mend; a bug says how to report it."""
    args = list(sys.argv[1:] if argv is None else argv)
    debug = "--debug" in args
    try:
        code = _run(args)
        sys.stdout.flush()
        return code
    except click.exceptions.NoArgsIsHelpError as error:
        click.echo(error.format_message(), err=True)
        return error.exit_code
    except click.ClickException as error:
        return _say(error.format_message(), error.exit_code, debug)
    except (click.Abort, KeyboardInterrupt):
        return _say("interrupted", INTERRUPTED, debug=False)
    except BrokenPipeError:
        # Whoever read our output has gone (`| head`): say nothing, and keep Python from complaining when it flushes at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return BROKEN_PIPE
    except BayplanError as error:
        return _say(str(error), error.exit_code, debug)
    except MemoryError:
        return _say(
            "out of memory; plan fewer pods or offerings at a time (--region, --provider), or use a larger machine", ENVIRONMENT, debug
        )
    except OSError as error:
        return _say(f"{error.filename or 'input or output'}: {error.strerror or error}", ENVIRONMENT, debug)
    except Exception as error:
        return _say(_bug(error, args, debug), ENVIRONMENT, debug)


def _bug(error: Exception, args: list[str], debug: bool) -> str:
    again = "" if debug else f"; `{program()} --debug {shlex.join(args)}` shows where"
    return f"this is a bug: {type(error).__name__}: {error}{again}. Please report it with that and your input after `{program()} scrub`"


def _run(args: list[str]) -> int:
    result: Any = packer.main(args=args, prog_name=program(), standalone_mode=False)
    return result if isinstance(result, int) else 0


def _say(message: str, code: int, debug: bool) -> int:
    if debug:
        import traceback

        traceback.print_exc()
    try:
        click.echo(f"{program()}: {message}", err=True)
    except OSError:
        pass  # stderr is closed too: the exit code is all that is left
    return code
