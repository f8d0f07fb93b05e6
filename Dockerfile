# Two images of this clone. Both run as any user, and with a read-only root file system:
#   docker build -t mcp-proxy .                        for remote servers
#   docker build -t mcp-proxy:local --target local .   also for programs, with npx, uvx and git
# docs/containers.md explains how to run them.
ARG NODE_IMAGE=node:22-bookworm-slim
ARG UV_IMAGE=ghcr.io/astral-sh/uv:0.9

# The package is the same for all platforms.
FROM --platform=$BUILDPLATFORM ${NODE_IMAGE} AS build
WORKDIR /src
# Without the workspace, which has only SDKs for tests. No dependency needs its scripts.
COPY package.json package-lock.json .npmrc ./
RUN npm ci --workspaces=false --ignore-scripts
COPY . .
RUN npm run build && mkdir /app && tar -xzf "$(npm pack --silent --ignore-scripts)" -C /app --strip-components=1
RUN npm prune --omit=dev --workspaces=false --ignore-scripts && mv node_modules /app/

FROM ${UV_IMAGE} AS uv

FROM ${NODE_IMAGE} AS base
COPY --from=build /app /app
COPY --chmod=755 bin/container-init.sh /usr/local/bin/container-init
# Any user may write there.
RUN ln -s /app/bin/mcp-proxy.js /usr/local/bin/mcp-proxy && install -d -m 1777 /state
ENV NODE_ENV=production \
  HOME=/state \
  XDG_STATE_HOME=/state \
  MCP_PROXY_RUN_DIR=/state/run \
  MCP_PROXY_CONFIG=/etc/mcp-proxy/mcp.json
WORKDIR /state
VOLUME /state
EXPOSE 8808
HEALTHCHECK --interval=10s --timeout=5s --start-period=60s \
  CMD ["node", "-e", "require('http').get('http://127.0.0.1:8808/readyz', ({ statusCode }) => process.exit(statusCode === 200 ? 0 : 1)).on('error', () => process.exit(1))"]
ENTRYPOINT ["container-init", "mcp-proxy"]
CMD ["serve", "--host", "0.0.0.0"]

FROM base AS local
COPY --from=uv /uv /uvx /usr/local/bin/
RUN apt-get update \
  && apt-get install -y --no-install-recommends ca-certificates git \
  && rm -rf /var/lib/apt/lists/* \
  && install -d -m 1777 /cache
ENV npm_config_cache=/cache/npm UV_CACHE_DIR=/cache/uv UV_PYTHON_INSTALL_DIR=/cache/python UV_TOOL_DIR=/cache/tools
VOLUME /cache
USER 1000:1000

FROM base AS proxy
USER 1000:1000
