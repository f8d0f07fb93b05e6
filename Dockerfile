# Builds an image from this clone: docker build -t mcp-proxy .
# To serve a file to this machine:
#   docker run -p 127.0.0.1:8808:8808 -v ./mcp.json:/etc/mcp.json:ro mcp-proxy \
#     serve --config /etc/mcp.json --host 0.0.0.0 --allow-remote
# For other machines, configure "auth" and leave out "127.0.0.1:" and --allow-remote.
FROM node:22-slim AS build
WORKDIR /app
COPY . .
RUN npm ci && npm prune --omit=dev --ignore-scripts

FROM node:22-slim
WORKDIR /app
COPY --from=build /app/package.json /app/mcp-proxy.example.json ./
COPY --from=build /app/bin ./bin
COPY --from=build /app/config ./config
COPY --from=build /app/dist ./dist
COPY --from=build /app/node_modules ./node_modules
USER node
ENTRYPOINT ["node", "/app/bin/mcp-proxy.js"]
