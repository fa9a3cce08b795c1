"""``mfpde theory beta=5 dimension=2``: the closed-form facts at these parameters."""

from __future__ import annotations

from typing import Annotated, Any

from mfpde.commands import DONE
from mfpde.commands.answers import say
from mfpde.commands.options import about


def theory(
    *given: Annotated[
        str,
        about(
            "KEY=VALUE, of which beta is needed: beta, dimension, normalized, kernel, "
            "diffusion, degrees, directions, weights, biases, output_bias, activation, mass, "
            "start_angle, end_angle, atoms, least_mass."
        ),
    ],
) -> int:
    """Print growth rates, transitions, stable states, atoms in closed form.

    Example: mfpde theory beta=5 dimension=3 diffusion=0.01
    """
    from mfpde.arrays import nearest
    from mfpde.commands.theory_report import FACTS
    from mfpde.settings import SettingsError
    from mfpde.settings.overrides import setting_value

    values: dict[str, Any] = {}
    for text in given:
        key, equals, value = (word.strip() for word in text.partition("="))
        if key in FACTS.keys and not equals:
            raise ValueError(f"{key} needs a value behind =, as in {key}=5")
        if not equals or not key:
            known = nearest(key, FACTS.keys)
            raise ValueError(f"{text!r}{known} must be KEY=VALUE, as in beta=5")
        values[key] = setting_value(value)
    try:
        say(FACTS.read(values).built)
    except ValueError as error:
        raise SettingsError(str(error)) from error
    return DONE
