"""Makes Inputs/knobs.json: what the settings of the installed Triton are under each text of their variables.

    python record_knobs.py > Inputs/knobs.json"""
import json
import os
import sys

TEXTS = (None, "", "0", "1", "true", "On", "yes", "2", "x")


def groups(knobs):
    return {name: value for name, value in vars(knobs).items() if isinstance(value, knobs.base_knobs)}


def asked(knobs):
    """(group, name, variable) of settings whose value depends on the variable alone."""
    for group, settings in groups(knobs).items():
        for name, knob in settings.knob_descriptors.items():
            if type(knob).__name__ not in ("env_nvidia_tool", "env_class", "env_str_callable_default") and name not in ("home_dir", "cupti_lib_dir"):
                yield group, name, knob.key


def outcome(settings, name, key, text):
    held = os.environ.pop(key, None)
    try:
        if text is not None:
            os.environ[key] = text
        return repr(getattr(settings, name))
    except Exception as error:
        return type(error).__name__
    finally:
        os.environ.pop(key, None)
        if held is not None:
            os.environ[key] = held


def answers(knobs):
    return {f"{group}.{name} {key}": [outcome(groups(knobs)[group], name, key, text) for text in TEXTS]
            for group, name, key in asked(knobs)}


if __name__ == "__main__":
    import triton

    json.dump({"version": triton.__version__, "answers": answers(triton.knobs)}, sys.stdout, indent=0, sort_keys=True)
    print()
