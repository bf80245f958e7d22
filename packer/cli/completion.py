"""``packer completion``: the script that makes a shell complete commands and options."""

from __future__ import annotations

import click
from click.shell_completion import get_completion_class

from packer.cli import packer as root

SHELLS = ("bash", "zsh", "fish")


@click.command()
@click.argument("shell", type=click.Choice(SHELLS))
@click.option("--name", default="packer", show_default=True, help="The program to complete: packer or bayplan.")
def completion(shell: str, name: str) -> None:
    """Print the completion script for SHELL.

    \b
    bash:  packer completion bash > ~/.local/share/bash-completion/completions/packer
    zsh:   packer completion zsh > "${fpath[1]}/_packer"
    fish:  packer completion fish > ~/.config/fish/completions/packer.fish
    """
    kind = get_completion_class(shell)
    if kind is None:
        raise click.UsageError(f"no completion for {shell}; known: {', '.join(SHELLS)}")
    click.echo(kind(root, {}, name, f"_{name.upper().replace('-', '_')}_COMPLETE").source())
