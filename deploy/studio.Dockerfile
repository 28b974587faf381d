# Studio as an image, for one person at one machine:
#   docker build -f deploy/studio.Dockerfile -t voile-studio .
#   docker run --rm -it --network host --user "$(id -u):$(id -g)" -v "$PWD:/work" voile-studio
# Open the address that is printed.  It listens on this machine only, and reads that folder only.
FROM python:3.13-slim-bookworm AS build
WORKDIR /src
COPY packages ./packages
RUN python -m venv /opt/voile \
    && /opt/voile/bin/pip install --no-cache-dir ./packages/voile-base ./packages/voile-geo \
        './packages/voile[full,learn,excel,stats,report]' ./packages/voile-studio

FROM python:3.13-slim-bookworm
RUN useradd --system --uid 10001 --create-home voile
COPY --from=build /opt/voile /opt/voile
ENV PATH=/opt/voile/bin:$PATH PYTHONUNBUFFERED=1 PYTHONDONTWRITEBYTECODE=1 HOME=/tmp
USER 10001
WORKDIR /work
ENTRYPOINT ["voile", "studio"]
CMD ["--no-browser", "--port", "8420", "--folder", "/work"]
