# evade for CPUs. `docker build --tag evade .`, then `docker run --rm --volume "$PWD/runs:/runs" evade train quick evade`.
FROM python:3.12-slim

# The package index of torch's CPU builds; without it pip takes its default torch, which brings CUDA libraries. It is
# asked besides pip's own index: a CPU build (2.13.0+cpu) goes before the default one, and torch's dependencies may not be
# there in the tested versions.
ARG TORCH_INDEX=""

# A C++ compiler for compiled dream steps; its version is that of the base image's Debian.
# hadolint ignore=DL3008
RUN apt-get update \
    && apt-get install --yes --no-install-recommends g++ \
    && rm -rf /var/lib/apt/lists/*

WORKDIR /opt/evade
COPY constraints.txt ./
RUN pip install --no-cache-dir --constraint constraints.txt ${TORCH_INDEX:+--extra-index-url "$TORCH_INDEX"} torch
COPY pyproject.toml hatch_build.py README.md LICENSE ./
COPY src ./src
RUN pip install --no-cache-dir --constraint constraints.txt ".[atari,minatar,minigrid]"

RUN useradd --create-home --uid 1000 agent && mkdir /runs && chown agent /runs
USER 1000
WORKDIR /
ENTRYPOINT ["evade"]
CMD ["--help"]
